// What the core of membership decides, for its shell to do. Each is done as soon as it is told, in
// order; what it leads to comes back as a fact.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "edl/membership/message.h"

namespace edl::membership {

struct Send {
  model::WorkerId to{};
  Message message{};
};
// Put `who` into the leader key, if its mod_revision is still `after`. Answer: fact `leader`.
struct TakeLead {
  model::Ballot after{};
  model::WorkerId who{};
  std::string reason{};
};
// Read the view key now. Answer: fact `elected`.
struct ReadView {
  model::Ballot ballot{};
};
// Write what is about to change, if the ballot is still ours. Answer: fact `announced`.
struct Announce {
  model::Ballot ballot{};
  model::Generation generation{};
  model::Cause cause = model::Cause::kStart;
  std::string who{};
  std::string reason{};
};
// Write the view, if the leader key has the ballot and the view key the revision. Answer: fact
// `published`.
struct Publish {
  model::Ballot ballot{};
  model::Revision after{};
  model::View view{};
};
// A word about the leader of this ballot in the store: by its accuser, or its own answer.
struct Complain {
  model::Ballot ballot{};
  model::WorkerId accused{};
  std::string reason{};
};
// Ask, if the ballot is still ours, for another worker in the place of this one. The view that
// takes it in leaves out the other.
struct Replace {
  model::Ballot ballot{};
  model::WorkerId who{};
  std::string reason{};
};
// Something is wrong that changes no decision: people should know.
struct Warn {
  std::string reason{};
};
// A promise is being given.
struct Promised {};
// Leave the collectives of all generations; nothing is completed there any more.
struct LeaveCollective {
  std::string reason{};
};
// Train in this view, unless it halts. The step before its first one is stable.
struct EnterView {
  model::View view{};
};
// Get the record of this step from that worker and apply it. Answer: fact `completed`.
struct TakeRecord {
  model::WorkerId from{};
  model::Step step{};
};
// Apply no record that was asked for before: others begin to count without it. A joiner goes on
// with stable ones, unless the core holds still.
struct DropRecord {};
// Get a copy of the state and the records behind it from these. Answers: facts `state`.
// From disk when `from` is empty.
struct GetState {
  std::vector<model::WorkerId> from{};
  model::Step at{};  // the state after this step, or the next that they have
};
// The state is of no use any more.
struct DropState {
  std::string reason{};
};
enum class HaltKind { kFinished, kStopped, kWaiting, kAbandoned };
std::string_view name(HaltKind kind);
// After EnterView: no step follows in this view. The leader also writes a checkpoint; then for
// kFinished and kStopped the result, and after kAbandoned all exit.
struct Halt {
  HaltKind kind = HaltKind::kWaiting;
  model::Step step{};
  bool leads = false;
  std::string reason{};
};
// We are not needed any more: end with exit code 0.
struct Exit {
  std::string reason{};
};

using Action = std::variant<Send, TakeLead, ReadView, Announce, Publish, Complain, Replace, Warn,
                            Promised, LeaveCollective, EnterView, TakeRecord, DropRecord, GetState,
                            DropState, Halt, Exit>;
std::string action_text(const Action& action);

}  // namespace edl::membership
