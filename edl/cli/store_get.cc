// `edl store get`.
#include <algorithm>

#include "edl/cli/store_answers.h"
#include "edl/cli/store_client.h"
#include "edl/cli/store_commands.h"
#include "edl/cli/store_keys.h"

namespace edl::cli {
namespace {

constexpr std::int64_t kPage = 500;

// How what was read is written.
struct GetShape {
  bool json = false;
  bool one = false;  // one key was asked for: it must exist
  bool values_only = false;
};

// Reads a range at one revision, page by page where its order allows that, and writes each page as
// it comes: there may be more keys than memory.
class Reading {
 public:
  Reading(StoreConnection& store, GetShape shape, store::RangeRequest request, Output& out)
      : store_(store),
        shape_(shape),
        request_(std::move(request)),
        is_paged_(!request_.range_end.empty() && !request_.count_only &&
                  request_.sort_target == store::SortTarget::kKey),
        left_(request_.limit),
        asked_revision_(request_.revision),
        out_(out) {}

  Result<void> run() {
    read();
    return store_.run();
  }

 private:
  void read() {
    if (is_paged_) request_.limit = left_ > 0 ? std::min(left_, kPage) : kPage;
    page_ = store_.client().range(
        request_, [this](const Result<store::RangeResponse>& page) { on_page(page); });
  }

  void on_page(const Result<store::RangeResponse>& page) {
    if (!page.ok()) return store_.end(page.error());
    if (request_.count_only) return write_count(*page);
    if (shape_.one && page->kvs.empty()) return store_.end(no_such_key());
    for (const store::KeyValue& kv : page->kvs) write(kv);
    const auto got = static_cast<std::int64_t>(page->kvs.size());
    const bool enough = left_ > 0 && got >= left_;
    if (!is_paged_ || !page->more || got == 0 || enough || !out_.open()) return store_.end({});
    if (left_ > 0) left_ -= got;
    go_on_after(page->kvs.back().key, page->header->revision);
  }

  void go_on_after(const std::string& last, store::Revision revision) {
    if (request_.revision == 0) request_.revision = revision;
    if (request_.sort_order == store::SortOrder::kDescend) {
      request_.range_end = last;
    } else {
      request_.key = last + '\0';
    }
    read();
  }

  void write(const store::KeyValue& kv) {
    if (shape_.json) {
      const Values values = request_.keys_only ? Values::kWithout : Values::kWith;
      out_.add(object_line(kv_object(kv, values)));
    } else if (shape_.values_only) {
      out_.add(shape_.one ? kv.value : text(kv.value, "\n"));
    } else {
      out_.add(request_.keys_only ? text(kv.key, "\n") : kv_text(kv));
    }
  }

  void write_count(const store::RangeResponse& answer) {
    if (shape_.json) {
      out_.add(object_line({{"count", answer.count}, {"revision", answer.header->revision}}));
    } else {
      out_.add(text(answer.count, "\n"));
    }
    store_.end({});
  }

  Error no_such_key() const {
    const std::string when = asked_revision_ > 0 ? text(" at revision ", asked_revision_) : "";
    return {Code::kNotFound, text("there is no key ", in_quotes(request_.key), when,
                                  ". Keys that begin with it are found with --prefix.")};
  }

  StoreConnection& store_;
  const GetShape shape_;
  store::RangeRequest request_;
  const bool is_paged_;
  std::int64_t left_;  // of the limit; 0: there is none
  const store::Revision asked_revision_;
  Output& out_;
  os::Pending page_;
};

class StoreGet final : public StoreCommand {
 public:
  explicit StoreGet(CLI::App& app) : StoreCommand(app), keys_(app, /*ranges=*/true) {
    add_store_number(app, "--limit", request_.limit, "at most so many keys; 0 for all");
    add_store_number(app, "--revision", request_.revision, "as it was at this revision; 0 for now");
    add_word(app, "--order", request_.sort_order, "ascend or descend; ascend when not given",
             {{"ascend", store::SortOrder::kAscend}, {"descend", store::SortOrder::kDescend}});
    add_word(app, "--sort-by", request_.sort_target,
             "key, version, create, mod or value; key when not given",
             {{"key", store::SortTarget::kKey},
              {"version", store::SortTarget::kVersion},
              {"create", store::SortTarget::kCreate},
              {"mod", store::SortTarget::kMod},
              {"value", store::SortTarget::kValue}});
    CLI::Option* keys = app.add_flag("--keys-only", request_.keys_only, "keys without values");
    CLI::Option* count = app.add_flag("--count-only", request_.count_only, "how many keys");
    CLI::Option* values =
        app.add_flag("--print-value-only", values_only_,
                     "values without keys; of one key exactly its bytes, no line end");
    count->excludes(keys);
    values->excludes(keys)->excludes(count);
  }

 private:
  Result<void> answer(StoreConnection& store, Output& out) override {
    EDL_TRY(const KeySelection keys, keys_.read());
    keys.apply_to(request_);
    const GetShape shape{.json = json(), .one = keys.is_one(), .values_only = values_only_};
    return Reading(store, shape, request_, out).run();
  }

  KeyOptions keys_;
  store::RangeRequest request_;
  bool values_only_ = false;
};

}  // namespace

void add_store_get(CommandLine& line, CLI::App& store) {
  line.add<StoreGet>(store, {"get", "Read one key, or a range of keys.",
                             "edl store get /color\n"
                             "  edl store get /jobs/ --prefix --keys-only\n"
                             "  edl store get /model --print-value-only > model.bin\n"
                             "  edl store get '' --prefix --count-only --json\n"
                             "  edl store get /color --revision=12"});
}

}  // namespace edl::cli
