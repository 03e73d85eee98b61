// Bytes of a stranger as requests: how they were cut makes no difference.
#include "tests/fuzz/http_cut.h"

using namespace edl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tests::FuzzInput input(data, size);
  tests::check_cutting<http::RequestParser>(input, false);
  return 0;
}
