#include "edl/data/record_index.h"

#include <algorithm>

#include "edl/base/check.h"
#include "edl/base/text.h"

namespace edl::data {
namespace {

// Records of one size need no walk.
Result<std::uint64_t> fixed_count(std::uint64_t bytes, const RecordFormat& format, Ending ending) {
  const std::uint64_t rest = bytes % format.record_bytes;
  if (ending == Ending::kGrows || rest == 0) return bytes / format.record_bytes;
  return Error{Code::kCorrupt, text("its ", bytes, " bytes are no whole number of records of ",
                                    format.record_bytes, ": ", rest, " are left over")};
}

}  // namespace

Result<RecordIndex> RecordIndex::scan(ConstBytes file, std::uint64_t from,
                                      const RecordFormat& format, Ending ending,
                                      const IndexLimits& limits) {
  EDL_TRY(validate(format));
  RecordIndex out;
  out.from_ = out.to_ = from;
  if (format.kind == RecordKind::kFixed && from <= file.size()) {
    const std::uint64_t size = format.record_bytes;
    EDL_TRY(const std::uint64_t whole, fixed_count(file.size() - from, format, ending));
    const std::uint64_t reach = limits.bytes_max / size + (limits.bytes_max % size != 0 ? 1 : 0);
    out.count_ = std::min({whole, limits.records_max, reach});
    out.to_ = from + out.count_ * size;
    return out;
  }
  while (out.count_ < limits.records_max && out.to_ - from < limits.bytes_max) {
    EDL_TRY(const std::optional<Frame> next, frame_at(file, out.to_, format, ending));
    if (!next) break;
    if (out.count_ % kEvery == 0) out.starts_.push_back(out.to_);
    out.to_ = next->to;
    ++out.count_;
  }
  return out;
}

Result<RecordIndex> RecordIndex::make(std::uint64_t from, std::uint64_t to, std::uint64_t count,
                                      std::vector<std::uint64_t> starts) {
  const bool is_ordered = std::is_sorted(starts.begin(), starts.end()) &&
                          (starts.empty() || (starts.front() == from && starts.back() < to));
  const std::uint64_t wanted = count / kEvery + (count % kEvery != 0 ? 1 : 0);
  if (from > to || !is_ordered || (!starts.empty() && starts.size() != wanted)) {
    return Error{Code::kCorrupt, text("there is no index of ", count, " records in bytes ", from,
                                      " to ", to, " with ", starts.size(), " starts")};
  }
  RecordIndex out;
  out.from_ = from;
  out.to_ = to;
  out.count_ = count;
  out.starts_ = std::move(starts);
  return out;
}

Result<Frame> RecordIndex::frame(ConstBytes file, std::uint64_t i,
                                 const RecordFormat& format) const {
  EDL_CHECK(i < count_);
  const bool is_fixed = format.kind == RecordKind::kFixed;
  EDL_CHECK(is_fixed || !starts_.empty());
  std::uint64_t at = is_fixed ? from_ + i * format.record_bytes : starts_[i / kEvery];
  for (std::uint64_t left = is_fixed ? 0 : i % kEvery;; --left) {
    EDL_TRY(const std::optional<Frame> found, frame_at(file, at, format, Ending::kWhole));
    if (!found || found->to > to_) {
      return Error{Code::kCorrupt, text("there is no record at byte ", at,
                                        " any more: the file has changed since it was looked at")};
    }
    if (left == 0) return *found;
    at = found->to;
  }
}

}  // namespace edl::data
