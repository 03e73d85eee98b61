#include "edl/store/listing.h"

#include "edl/store/etcd_store.h"

namespace edl::store {
namespace {

constexpr std::int64_t kPage = 500;
constexpr int kRestartsMax = 5;

}  // namespace

Listing::Listing(Client& client, std::string prefix, Done<Listed> done)
    : client_(client),
      request_{.key = prefix.empty() ? std::string(1, '\0') : prefix,
               .range_end = prefix_end(prefix),
               .limit = kPage},
      first_key_(request_.key),
      done_(std::move(done)) {
  read();
}

void Listing::read() {
  page_ = client_.range(request_, [this](Result<RangeResponse> page) { on_page(std::move(page)); });
}

void Listing::on_page(Result<RangeResponse> page) {
  if (!page.ok()) {
    // The revision that we read at was compacted meanwhile: begin anew.
    const bool compacted = page.error().code == Code::kNotFound;
    if (!compacted || ++restarts_ > kRestartsMax) return finish(page.error());
    request_.key = first_key_;
    request_.revision = 0;
    listed_ = {};
    return read();
  }
  if (request_.revision == 0) listed_.revision = request_.revision = page->header->revision;
  for (KeyValue& kv : page->kvs) listed_.kvs.push_back(std::move(kv));
  if (!page->more) return finish(std::move(listed_));
  request_.key = listed_.kvs.back().key + '\0';
  read();
}

void Listing::finish(Result<Listed> result) {
  const auto done = done_;  // it may destroy us
  done(std::move(result));
}

}  // namespace edl::store
