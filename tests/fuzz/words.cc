// Short texts that people and programs give: addresses, durations, hexadecimal, ranges, names.
#include "edl/base/check.h"
#include "edl/base/time.h"
#include "edl/model/ids.h"
#include "edl/model/worker_range.h"
#include "edl/os/address.h"
#include "tests/fuzz/input.h"

using namespace edl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view words = text_of(tests::FuzzInput(data, size).rest());
  if (const auto address = os::parse_address(words); address.ok()) {
    EDL_CHECK(os::parse_address(os::address_text(*address)).value() == *address);
  }
  if (const auto bytes = parse_hex(words); bytes.ok()) EDL_CHECK(hex(*bytes) == words);
  if (const auto duration = parse_duration(words); duration.ok()) {
    EDL_CHECK(*duration >= Duration::zero());
    (void)duration_text(*duration);
  }
  (void)model::parse_workers(words);
  (void)model::validate_name("name", words);
  return 0;
}
