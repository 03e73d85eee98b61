// What the workers of a job say to each other about who trains together. Every message is small and
// carries what it is about: a ballot, a generation, a step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "edl/base/json.h"
#include "edl/model/position.h"
#include "edl/model/view.h"

namespace edl::membership {

enum class Kind : std::uint8_t {
  kPrepare,   // leader: leave all older generations after `step` (0: now), and promise
  kPromise,   // member: I have left them; my last completed step is in `here`
  kHandOver,  // leader: take the record of `step` from worker `who`, then promise again
  kView,      // leader: this view is published
  kAccuse,    // member: my link with worker `who` is broken, I have left `generation`
  kJoin,      // spare: I am here and would like to be a member
  kAdmit,     // leader: get the state from the members `ids`
  kReady,     // joiner: I hold the state after `here`
  kLeave,     // member: I have to go; `text` is the cause
  kBeat,      // member: how fast I am; what I made of the state up to `step`
};
inline constexpr int kKinds = 10;
std::string_view name(Kind kind);

struct Message {
  Kind kind = Kind::kBeat;
  model::Ballot ballot{};
  model::Generation generation{};
  model::Step step{};
  model::Position here{};
  model::WorkerId who{};
  std::vector<model::WorkerId> ids{};  // prepare: joiners; promise: whom it does not reach
  std::string text{};
  double speed = 0;         // beat, promise: samples a second; 0: not known
  std::uint64_t state = 0;  // beat: digest of a StateMark; 0: none
  std::optional<model::View> view{};

  bool operator==(const Message&) const = default;
};

void to_json(Json& json, const Message& message);
Result<Message> message_from(const Json& json);

}  // namespace edl::membership
