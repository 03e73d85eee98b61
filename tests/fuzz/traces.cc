// Traces of jobs and profiles of programs, from anyone: each reader, with the bytes as its file.
#include "edl/base/check.h"
#include "edl/os/no_disk_test.h"
#include "edl/simulator/application.h"
#include "edl/simulator/formats.h"
#include "tests/fuzz/input.h"

using namespace edl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tests::FuzzInput input(data, size);
  const std::string_view words = text_of(input.rest());
  os::NoDisk disk;  // profiles are asked for by their name; there are none
  for (const simulator::Format& format : simulator::formats()) {
    if (!format.knows(words.substr(0, words.find('\n')))) continue;
    const auto trace = format.read(disk, words, "");
    if (!trace.ok()) {
      EDL_CHECK(!trace.error().message.empty());
      continue;
    }
    for (const simulator::TraceJob& job : trace->jobs) {
      EDL_CHECK(job.submitted >= 0 && job.make({}) != nullptr);
    }
  }
  const auto application = simulator::parse_application(words);
  if (!application.ok()) EDL_CHECK(!application.error().message.empty());
  return 0;
}
