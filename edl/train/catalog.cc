#include "edl/train/catalog.h"

#include <algorithm>
#include <charconv>

#include "edl/base/text.h"
#include "edl/store/settle.h"

namespace edl::train {
namespace {

constexpr std::string_view kFolder = "stream/";
constexpr std::size_t kDigits = 8;
constexpr Duration kLookAgain = 200ms;
constexpr Duration kProposeLimit = 60s;

}  // namespace

std::string catalog_value(const CatalogEntry& entry) {
  if (entry.has_ended) {
    return json_line(Json{{"ended", true}, {"first", entry.partition.first}});
  }
  return json_line(Json(entry.partition));
}

Result<CatalogEntry> catalog_entry_from(std::string_view value) {
  EDL_TRY(const Json json, parse_json(value));
  JsonReader in(json, "catalog entry");
  CatalogEntry entry;
  in.read_optional("ended", entry.has_ended);
  in.read("first", entry.partition.first);
  EDL_TRY(in.finish());
  if (entry.has_ended) return entry;
  EDL_TRY(entry.partition, data::partition_from(json));
  return entry;
}

std::string catalog_name(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  const std::size_t zeros = kDigits - std::min(kDigits, digits.size());
  return text(kFolder, std::string(zeros, '0'), digits);
}

std::optional<std::uint64_t> catalog_number(std::string_view name) {
  if (!name.starts_with(kFolder)) return std::nullopt;
  name.remove_prefix(kFolder.size());
  std::uint64_t number = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  if (name.empty() || read.ec != std::errc() || read.ptr != name.data() + name.size()) {
    return std::nullopt;
  }
  return number;
}

Catalog::Catalog(os::System& system, store::Store& store, Executor& executor, Stream& stream,
                 std::string prefix, Events events)
    : system_(system),
      store_(store),
      executor_(executor),
      stream_(stream),
      prefix_(std::move(prefix)),
      events_(std::move(events)) {}

void Catalog::on_key(const std::string& name, const std::string& value) {
  if (const auto number = catalog_number(name)) take(*number, value);
}

void Catalog::want(std::uint64_t records) {
  wanted_ = std::max(wanted_, records);
  look();
}

void Catalog::look() {
  if (looking_ || failed_ || !is_wanted()) return;
  looking_ = true;
  auto found = std::make_shared<Result<Arrival>>(Arrival());
  executor_.run([this, found, last = last_] { *found = stream_.look(last ? &*last : nullptr); },
                [this, found, number = entries_] {
                  looking_ = false;
                  // It was looked for behind an entry that is not the last one any more.
                  if (number != entries_) return look();
                  if (!found->ok()) return fail(found->error());
                  propose(**found);
                });
}

void Catalog::look_later() {
  looking_ = true;
  timer_ = system_.after(kLookAgain, [this] {
    looking_ = false;
    look();
  });
}

// What was found is the next entry, unless another worker has put one there: then that is it.
void Catalog::propose(const Arrival& found) {
  if (!is_wanted()) return;
  if (!found.partition && !found.has_ended) return look_later();
  CatalogEntry entry{.has_ended = !found.partition};
  if (found.partition) entry.partition = *found.partition;
  entry.partition.first = extent_.records;
  looking_ = true;
  const std::string value = catalog_value(entry);
  const auto settled = [this, number = entries_](const Result<std::string>& stands) {
    looking_ = false;
    if (!stands.ok()) return look_later();
    take(number, *stands);
    look();
  };
  proposing_ =
      store::put_if_absent(store_, prefix_ + catalog_name(entries_), value, kProposeLimit, settled);
}

// Entries come from the store and from our own proposals, so that one may come twice.
void Catalog::take(std::uint64_t number, const std::string& value) {
  if (number < entries_ || failed_) return;
  const auto entry = catalog_entry_from(value);
  if (!entry.ok()) return fail(entry.error());
  early_.emplace(number, *entry);
  bool has_grown = false;
  while (!early_.empty() && early_.begin()->first == entries_ && !failed_) {
    append(early_.begin()->second);
    early_.erase(early_.begin());
    has_grown = true;
  }
  if (has_grown && !failed_) events_.grown();
}

void Catalog::append(const CatalogEntry& entry) {
  if (entry.partition.first != extent_.records || extent_.has_ended) {
    return fail(
        {Code::kCorrupt, text("entry ", entries_, " of the stream's catalog begins with ",
                              "record ", entry.partition.first, " instead of ", extent_.records)});
  }
  ++entries_;
  if (entry.has_ended) {
    extent_.has_ended = true;
    return;
  }
  last_ = entry.partition;
  extent_.records = entry.partition.end();
  auto added = std::make_shared<Result<void>>();
  executor_.run([this, added, partition = entry.partition] { *added = stream_.add(partition); },
                [this, added] {
                  if (!added->ok()) fail(added->error());
                });
}

void Catalog::fail(const Error& error) {
  if (failed_) return;
  failed_ = true;
  events_.failed(error);
}

}  // namespace edl::train
