#include "edl/train/drill.h"

#include <algorithm>
#include <map>

namespace edl::train {
namespace {

bool is_off_loop(model::FaultPhase phase) {
  return phase == model::FaultPhase::kCheckpointWrite ||
         phase == model::FaultPhase::kCheckpointSync ||
         phase == model::FaultPhase::kCheckpointRename;
}

}  // namespace

std::vector<std::string> claim_names(std::span<const model::Fault> faults) {
  std::map<std::string, int> given;
  std::vector<std::string> names;
  for (const model::Fault& fault : faults) {
    std::string name = model::fault_text(fault);
    const int time = ++given[name];
    std::ranges::replace(name, '/', '_');
    names.push_back(time == 1 ? name : text(name, "#", time));
  }
  return names;
}

Drill::Drill(os::System& system, std::string dir, model::WorkerId self,
             std::vector<model::Fault> faults, Events events)
    : system_(system), dir_(std::move(dir)), self_(std::move(self)), events_(std::move(events)) {
  std::vector<std::string> claims = claim_names(faults);
  for (std::size_t i = 0; i < faults.size(); ++i) {
    model::Fault& fault = faults[i];
    auto& list = is_off_loop(fault.phase) ? off_loop_ : faults_;
    auto& other = is_off_loop(fault.phase) ? faults_ : off_loop_;
    other.push_back({fault, claims[i], true});  // keeps the numbers equal
    list.push_back({std::move(fault), std::move(claims[i]), false});
  }
}

bool Drill::is_armed() const {
  return std::ranges::any_of(faults_, [&](const Armed& armed) {
    return !armed.spent && armed.fault.worker.value_or(self_) == self_;
  });
}

bool Drill::claim(const std::string& name) {
  os::Disk& disk = system_.disk();
  const std::string folder = dir_ + "/faults";
  if (!disk.make_directory(folder).ok()) return false;
  return disk.open(text(folder, "/", name), os::Open::kCreateNew).ok();
}

void Drill::enter(model::FaultPhase phase, model::Step step) {
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    Armed& armed = faults_[i];
    if (armed.spent || !model::fires(armed.fault, phase, step, self_)) continue;
    armed.spent = true;
    if (!claim(armed.claim)) continue;
    const model::Fault& fault = armed.fault;
    system_.log().warn("a drill strikes", {{"fault", model::fault_text(fault)}, {"step", step}});
    switch (fault.action) {
      case model::FaultAction::kKill:
        system_.processes().end_self({.signal = 9});
        break;
      case model::FaultAction::kExit:
        system_.processes().end_self({.code = fault.code});
        break;
      case model::FaultAction::kStop:
        events_.stop(i, fault);
        break;
      case model::FaultAction::kSlow:
        events_.slow(fault.factor);
        break;
      case model::FaultAction::kCut:
        events_.cut(fault.cut);
        break;
    }
  }
}

void Drill::enter_off_loop(model::FaultPhase phase, model::Step step) {
  for (std::size_t i = 0; i < off_loop_.size(); ++i) {
    Armed& armed = off_loop_[i];
    if (armed.spent || !model::fires(armed.fault, phase, step, self_)) continue;
    armed.spent = true;
    if (!claim(armed.claim)) continue;
    if (armed.fault.action == model::FaultAction::kExit) {
      system_.processes().end_self({.code = armed.fault.code});
    } else if (armed.fault.action == model::FaultAction::kKill) {
      system_.processes().end_self({.signal = 9});
    } else {
      system_.post([this, i, fault = armed.fault] {
        if (fault.action == model::FaultAction::kStop) events_.stop(i, fault);
        if (fault.action == model::FaultAction::kSlow) events_.slow(fault.factor);
        if (fault.action == model::FaultAction::kCut) events_.cut(fault.cut);
      });
    }
  }
}

}  // namespace edl::train
