// JSON into the messages and keys of membership, and what is understood into a core that trains.
// Whatever its peers say, it must not fall over, nor go back to an older generation or ballot.
#include "edl/membership/keys.h"
#include "tests/fuzz/input.h"

namespace {

using namespace edl;
using namespace edl::membership;

constexpr std::uint32_t kLogical = 4;

model::View first_view() {
  model::View view;
  view.generation = model::Generation(1);
  view.first_step = model::Step(1);
  view.batch = model::undivided_batch(8, kLogical);
  for (const char* id : {"a", "b", "c"}) view.members.push_back({id, "h:1", "h", {}});
  for (std::uint32_t v = 0; v < kLogical; ++v) {
    view.members[v % 3].logical.push_back(model::LogicalWorker(v));
  }
  return view;
}

Core made(const std::string& self) {
  Core core(self, {.logical_workers = kLogical, .min = 1, .max = 4, .batch = 8});
  core.set_time(Time(), 1s);
  core.on_wanted({.workers = 3});
  for (const char* id : {"a", "b", "c"}) {
    core.on_registered(id, {"h:1", "h"});
    if (id != self) core.on_link(id, true);
  }
  core.on_current();
  core.on_state({});
  core.on_leader(model::Ballot(5), "a");
  core.on_view(first_view(), model::Revision(6));
  if (self == "a") core.on_elected(model::Ballot(5), first_view(), model::Revision(6));
  return core;
}

// A message without the trouble of spelling it.
Message honest_message(tests::FuzzInput& input) {
  Message message{.kind = static_cast<Kind>(input.number() % kKinds),
                  .ballot = model::Ballot(input.number() % 8),
                  .generation = model::Generation(input.number() % 6),
                  .step = model::Step(input.number() % 4),
                  .here = {model::Epoch(), 8, model::Step(input.number() % 4)},
                  .who = std::string(1, static_cast<char>('a' + input.number() % 4))};
  if (input.number() % 2 == 0) message.ids = {message.who};
  if (message.kind == Kind::kView) {
    message.view = first_view();
    message.view->generation = message.generation;
    message.view->first_step = model::Step(message.here.step.value() + 1);
  }
  return message;
}

void act(Core& core, tests::FuzzInput& input) {
  for (const Action& action : core.take_actions()) {
    (void)action_text(action);
    if (std::holds_alternative<EnterView>(action)) EDL_CHECK(core.is_member());
  }
  const model::Position next{model::Epoch(), 8, core.here().step.next()};
  switch (input.number() % 8) {
    case 0:
      core.on_applying();
      return core.on_completed(next);
    case 1:
      return core.on_published(input.number() % 2 == 0, model::Revision(9));
    case 2:
      return core.on_announced(true);
    case 3:
      return core.on_link(std::string(1, static_cast<char>('a' + input.number() % 4)),
                          input.number() % 2 == 0);
    case 4:
      return core.on_state(next);
    default:
      return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tests::FuzzInput input(data, size);
  Core core = made(input.number() % 2 == 0 ? "a" : "b");
  Time now{};
  while (!input.empty()) {
    const auto before = std::pair(core.view()->generation, core.ballot());
    const std::string from(1, static_cast<char>('a' + input.number() % 4));
    now += input.number() * 10ms;
    core.set_time(now, 1s);
    if (input.number() % 2 == 0) {
      if (from != core.self()) core.on_message(from, honest_message(input));
    } else if (const auto json = parse_json(text_of(input.piece(input.number()))); json.ok()) {
      (void)worker_key_from(*json);
      (void)wanted_from(*json);
      if (const auto message = message_from(*json); message.ok() && from != core.self()) {
        core.on_message(from, *message);
      }
    }
    act(core, input);
    core.look();
    EDL_CHECK(std::pair(core.view()->generation, core.ballot()) >= before);
    (void)core.state_text();
  }
  return 0;
}
