// What happens next to a job in mode stop-resume: whether its workers are asked to stop, whether
// the next round starts, whether the job has ended. Decided by the agent of `edl run` alone, from
// what the store shows. Plain state: facts in, a decision with its reason out; time is an argument.
//
// Always holds:
// - a round starts only when every worker of the round before it has ended, or when its agent has
//   been gone for longer than it lets a worker live;
// - the job has finished only when all workers of one round ended by themselves with 0;
// - a round costs the budget of crashes at most once, and not at all when a worker of it was killed
//   or preempted: those that talk with it fail too, and that is not their doing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edl/agent/picture.h"
#include "edl/agent/replacement.h"
#include "edl/model/view.h"
#include "edl/model/worker.h"

namespace edl::agent {

// A worker of the newest round.
struct SeatFacts {
  enum class State {
    kComing,   // its agent has not said yet that it runs
    kRunning,  //
    kEnded,    //
    kLost,     // its agent is gone
  };
  model::WorkerId id{};
  std::string host{};
  State state = State::kComing;
  bool asked = false;  // of an ended one: its agent had asked it to end
  std::optional<model::Exit> exit{};
  std::string reason{};     // of its end, one sentence
  std::string log{};        // path of what it printed
  std::uint64_t order = 0;  // of the ends: who ended first has the lowest

  bool has_finished() const { return exit && !asked && exit->code == 0 && exit->signal == 0; }
};

struct RoundFacts {
  Wanted wanted{};
  std::uint64_t generation = 0;  // of the newest round; 0: there is none
  std::vector<SeatFacts> seats{};
  std::uint64_t announced = 0;  // the round for which all were asked to stop
};

struct RoundDecision {
  enum class Act {
    kWait,
    kAnnounce,  // ask all to stop, for this reason
    kStart,     // the next round, for this reason
    kEnd,       // the job, with this state
  };
  Act act = Act::kWait;
  model::Cause cause = model::Cause::kStart;
  std::string who{};
  std::string reason{};
  std::string state{};  // of kEnd: finished, stopped or failed
  std::optional<JobFailure> failure{};
  std::optional<Time> look_again{};
};

class StopResume {
 public:
  // `lost_after`: how long a worker may live on when its agent is gone.
  explicit StopResume(Duration lost_after, ReplacementRules rules = {})
      : lost_after_(lost_after), replacement_(rules) {}

  RoundDecision decide(const RoundFacts& facts, Time now);

 private:
  using Change = RoundDecision;

  bool is_over(const RoundFacts& facts, Time now, std::optional<Time>& look_again);
  std::optional<Change> change_in(const RoundFacts& facts) const;
  RoundDecision running(const RoundFacts& facts);
  RoundDecision ended(const RoundFacts& facts, Time now);
  void judge(const RoundFacts& facts, Time now);
  Change next_cause(const RoundFacts& facts) const;
  bool is_inherited(const RoundFacts& facts) const { return facts.generation <= *inherited_; }

  const Duration lost_after_;
  Replacement replacement_;
  std::optional<std::uint64_t> inherited_;  // the newest round that an earlier run made
  std::uint64_t judged_ = 0;                // the newest round whose ends were counted
  std::optional<Change> announced_;
  std::map<model::WorkerId, Time> lost_since_;
};

}  // namespace edl::agent
