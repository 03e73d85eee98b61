#include "edl/data/trace_samples.h"

#include "edl/base/text.h"
#include "edl/data/lines.h"

namespace edl::data {

Result<TraceSamples> TraceSamples::open(os::Disk& disk, const std::string& path) {
  EDL_TRY(auto file, disk.open(path, os::Open::kAppend));
  return TraceSamples(std::move(file));
}

Result<void> TraceSamples::add(const TraceLine& line) {
  return file_->append(bytes_of(trace_line(line)));
}

Result<void> join_trace(os::Disk& disk, const std::string& path, Verifier& verifier,
                        TraceCheck& check) {
  EDL_TRY(const auto file, disk.open(path, os::Open::kRead));
  LineReader lines(*file, kTraceLineBytesMax);
  for (;;) {
    const auto line = lines.next();
    if (!line.ok()) return Error{line.error().code, text(path, ": ", line.error().message)};
    if (!*line) break;
    const auto part = trace_line_from(**line);
    if (part.ok()) {
      check.take(*part);
    } else {
      verifier.violate(ViolationKind::kUnreadable, model::Step(0),
                       text(path, ", line ", lines.line_number(), ": ", part.error().message));
    }
  }
  check.finish();
  return {};
}

}  // namespace edl::data
