#include "edl/membership/action.h"

#include <array>

#include "edl/model/words.h"

namespace edl::membership {
namespace {

constexpr std::array<std::string_view, 4> kHaltNames{"finished", "stopped", "waiting", "abandoned"};

std::string describe(const Send& act) {
  std::string out = text("to ", act.to, ": ", json_line(act.message));
  return out;
}
std::string describe(const TakeLead& act) {
  return text("put ", act.who, " into the leader key after ", act.after, ": ", act.reason);
}
std::string describe(const ReadView& act) { return text("read the view for ballot ", act.ballot); }
std::string describe(const Announce& act) {
  return text("announce ", name(act.cause), " for generation ", act.generation, ": ", act.reason);
}
std::string describe(const Publish& act) {
  return text("publish after ", act.after, " with ballot ", act.ballot, ": ", json_line(act.view));
}
std::string describe(const Complain& act) {
  return text("complain about ", act.accused, " of ballot ", act.ballot, ": ", act.reason);
}
std::string describe(const Replace& act) {
  return text("ask for a successor of ", act.who, ": ", act.reason);
}
std::string describe(const Warn& act) { return text("warn: ", act.reason); }
std::string describe(const Promised&) { return "promise"; }
std::string describe(const LeaveCollective& act) { return text("leave: ", act.reason); }
std::string describe(const EnterView& act) { return text("enter view ", act.view.generation); }
std::string describe(const TakeRecord& act) {
  return text("take the record of step ", act.step, " from ", act.from);
}
std::string describe(const DropRecord&) { return "drop the record that is on its way"; }
std::string describe(const GetState& act) {
  return act.from.empty() ? "load the state" : text("get the state from ", list_text(act.from));
}
std::string describe(const DropState& act) { return text("drop the state: ", act.reason); }
std::string describe(const Halt& act) {
  return text("halt, ", name(act.kind), ", after step ", act.step, ": ", act.reason);
}
std::string describe(const Exit& act) { return text("exit: ", act.reason); }

}  // namespace

std::string_view name(HaltKind kind) { return model::word_of(kind, kHaltNames); }

std::string action_text(const Action& action) {
  return std::visit([](const auto& act) { return describe(act); }, action);
}

}  // namespace edl::membership
