#include "edl/simulator/trace.h"

#include <algorithm>
#include <charconv>

#include "edl/base/text.h"
#include "edl/data/gzip.h"
#include "edl/simulator/csv_table.h"
#include "edl/simulator/formats.h"
#include "edl/simulator/text_file.h"

namespace edl::simulator {

Result<Trace> read_trace(os::Disk& disk, const std::string& path, const std::string& profiles) {
  EDL_TRY(const std::string words, read_text_file(disk, path));
  const std::string_view first = std::string_view(words).substr(0, words.find('\n'));
  for (const Format& format : formats()) {
    if (!format.knows(first)) continue;
    Result<Trace> trace = format.read(disk, words, profiles);
    if (!trace.ok()) {
      return Error{trace.error().code, text("trace ", path, ": ", trace.error().message)};
    }
    std::stable_sort(
        trace->jobs.begin(), trace->jobs.end(),
        [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; });
    const std::size_t slash = path.find_last_of('/');
    trace->name = slash == std::string::npos ? path : path.substr(slash + 1);
    return trace;
  }
  std::vector<std::string> known;
  for (const Format& format : formats()) known.push_back(format.name);
  return Error{Code::kInvalid, text("trace ", path, " is of no format that is known here, by its ",
                                    "first line: ", list_text(known))};
}

}  // namespace edl::simulator
