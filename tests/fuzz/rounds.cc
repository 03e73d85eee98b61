// JSON into the reader of rounds: refused with a sentence, or a round in which every worker finds
// its place and that is read back as it was written.
#include "edl/agent/round.h"
#include "edl/base/check.h"
#include "tests/fuzz/input.h"

using namespace edl;
using namespace edl::agent;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tests::FuzzInput input(data, size);
  const auto json = parse_json(text_of(input.rest()));
  if (!json.ok()) return 0;
  const auto round = round_from(*json);
  if (!round.ok()) return 0;
  EDL_CHECK(round_from(round_json(*round)).value() == *round);
  EDL_CHECK(round_event(*round).is_object());
  for (const model::Member& member : round->view.members) {
    EDL_CHECK(!round_environment(*round, member.id, "j", "/j").empty());
  }
  return 0;
}
