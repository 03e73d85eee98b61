// JSON into the lock's messages, and what is understood into its core.
#include "examples/lock/messages.h"
#include "tests/fuzz/input.h"

using namespace edl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tests::FuzzInput input(data, size);
  lock::LockCore core(1, 2s, Time{});
  Time now{};
  while (!input.empty()) {
    wire::Frame frame;
    frame.header.type = input.number() % 6;
    frame.header.first = input.number();
    now += input.number() * 10ms;
    const std::string client(1, static_cast<char>('a' + input.number() % 3));
    auto body = parse_json(text_of(input.piece(input.number())));
    frame.body = body.ok() ? std::move(body).value()
                           : Json{{"token", {{"epoch", 1}, {"count", input.number()}}}};
    (void)lock::decision_from(frame);
    if (const auto request = lock::request_from(frame); request.ok()) {
      int granted = 0;
      for (const auto& decision : core.on_request(client, *request, now)) {
        granted += decision.answer == lock::Answer::kGranted ? 1 : 0;
      }
      EDL_CHECK(granted <= 1);
    }
    if (input.number() % 8 == 0) (void)core.on_gone(client, now);
  }
  return 0;
}
