// A stranger's frames into both ends of a handshake: nobody gets in without the secret.
#include "edl/wire/handshake.h"
#include "edl/base/check.h"
#include "tests/fuzz/input.h"

using namespace edl;
using namespace edl::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tests::FuzzInput input(data, size);
  const Secret secret = Secret::make(bytes_of("sixteen bytes...")).value();
  NonceBook book;
  const Role role = input.number() % 2 == 0 ? Role::kServer : Role::kClient;
  Handshake handshake(role, {JobTag(1), "me", secret, book}, Nonce{});
  (void)handshake.opening();
  while (!input.empty()) {
    Frame frame;
    const Kind kinds[] = {Kind::kHello,   Kind::kChallenge, Kind::kProof,  Kind::kWelcome,
                          Kind::kRefusal, Kind::kPing,      Kind::kMessage};
    frame.header.kind = kinds[input.number() % 7];
    frame.header.job = JobTag(input.number() % 8 == 0 ? 2 : 1);
    const std::string id(text_of(input.piece(input.number() % 8)));
    const std::string nonce = hex(input.piece(32));
    switch (input.number() % 3) {
      case 0:
        frame.body = {{"id", id}, {"nonce", nonce}, {"proof", nonce}};
        break;
      case 1:
        frame.body = {{"proof", nonce}};
        break;
      default:
        frame.body = parse_json(text_of(input.piece(input.number()))).ok() ? Json(id) : Json();
    }
    const bool refused = !handshake.receive(frame).ok();
    EDL_CHECK(!handshake.done(), "a stranger got in");
    if (refused) EDL_CHECK(!handshake.receive(frame).ok());
  }
  return 0;
}
