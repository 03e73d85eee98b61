// Bytes of a stranger as answers: how they were cut makes no difference.
#include "tests/fuzz/http_cut.h"

using namespace edl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tests::FuzzInput input(data, size);
  const bool to_head = input.number() % 4 == 0;
  tests::check_cutting<http::ResponseParser>(input, to_head);
  return 0;
}
