#include "edl/model/worker_range.h"

#include <algorithm>
#include <charconv>

#include "edl/base/text.h"
#include "edl/model/ids.h"

namespace edl::model {
namespace {

std::optional<std::uint32_t> parse_count(std::string_view input) {
  std::uint32_t count = 0;
  const char* end = input.data() + input.size();
  const auto [rest, failed] = std::from_chars(input.data(), end, count);
  if (failed != std::errc() || rest != end || count < 1 || count > kMembersMax) return std::nullopt;
  return count;
}

Error above(std::string_view what, std::uint32_t count, std::uint32_t logical_workers) {
  return {Code::kInvalid,
          text("cannot use ", count, " workers (", what, "): the job has ", logical_workers,
               " logical workers and so room for at most ", logical_workers,
               " workers. Ask for fewer; more logical workers are another result.")};
}

}  // namespace

std::uint32_t WorkerRange::first_wanted(std::uint32_t cores) const {
  return start ? *start : std::clamp(cores, min, max);
}

Result<WorkerRange> parse_workers(std::string_view input) {
  const std::size_t colon = input.find(':');
  const bool both = colon != std::string_view::npos;
  const auto min = both ? parse_count(input.substr(0, colon)) : 1u;
  const auto max = parse_count(both ? input.substr(colon + 1) : input);
  if (!min || !max) {
    return Error{Code::kInvalid,
                 text("\"", input.substr(0, kNameMax), "\" is no number of workers: write N or ",
                      "MIN:MAX, from 1 to ", kMembersMax, ", for example 4 or 2:8")};
  }
  if (*min > *max) {
    return Error{Code::kInvalid,
                 text("workers ", *min, ":", *max, ": the minimum is above the ", "maximum. Write ",
                      *max, ":", *min, " or ", *min, ":", *min, ".")};
  }
  WorkerRange range{.min = *min, .max = *max, .start = std::nullopt};
  if (!both || *min == *max) range.start = *max;
  return range;
}

std::string workers_text(const WorkerRange& range) {
  if (range.min == 1 && range.start == range.max) return text(range.max);
  return text(range.min, ":", range.max);
}

Result<FittedWorkers> fit_workers(WorkerRange range, std::uint32_t logical_workers) {
  if (range.min > logical_workers) return above("the minimum", range.min, logical_workers);
  if (range.start && *range.start > logical_workers) {
    return above("the number to start with", *range.start, logical_workers);
  }
  std::string note;
  if (range.max > logical_workers) {
    note = text("The maximum of ", range.max, " workers is cut to ", logical_workers,
                ": the job has ", logical_workers, " logical workers.");
    range.max = logical_workers;
  }
  if (range.start && (*range.start < range.min || *range.start > range.max)) {
    return Error{Code::kInvalid, text("cannot start with ", *range.start, " workers: the range is ",
                                      range.min, ":", range.max, ". Start within it.")};
  }
  return FittedWorkers{range, std::move(note)};
}

}  // namespace edl::model
