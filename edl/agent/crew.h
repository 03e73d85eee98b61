// The workers of one agent in mode stop-resume: who is to be started, asked to end, and killed.
// Plain state; time is an argument.
//
// Always holds: nobody is started while one of an older round still runs, and who was asked to end
// is killed only after the whole grace.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edl/base/time.h"
#include "edl/model/ids.h"
#include "edl/model/worker.h"
#include "edl/os/process.h"

namespace edl::agent {

struct CrewOrders {
  std::uint64_t generation = 0;            // of the newest round
  std::vector<model::WorkerId> workers{};  // that this agent has in it
  bool stop = false;                       // all are to end, and nobody starts
};

struct CrewActions {
  std::vector<model::WorkerId> start{};
  std::vector<model::WorkerId> skip{};  // they were to start, but are to end already
  std::vector<model::WorkerId> terminate{};
  std::vector<model::WorkerId> kill{};
  std::optional<Time> look_again{};
};

// How an end came about, as far as the agent had a hand in it.
struct CrewEnd {
  bool asked = false;   // we had asked it to end
  bool killed = false;  // and killed it, because it did not
};

class Crew {
 public:
  explicit Crew(Duration grace) : grace_(grace) {}

  // Rounds up to this one are over: an earlier run of ours made them.
  void begin_after(std::uint64_t generation) { generation_ = generation; }
  // What is told to start, end and die is taken as done.
  CrewActions decide(const CrewOrders& orders, Time now);
  CrewEnd ended(const model::WorkerId& id);

  bool empty() const { return workers_.empty(); }

 private:
  struct Worker {
    std::optional<Time> asked{};
    bool killed = false;
  };

  void stop(CrewActions& actions, Time now);
  void start(const CrewOrders& orders, CrewActions& actions);

  const Duration grace_;
  std::uint64_t generation_ = 0;  // of the newest round that was started or skipped
  std::map<model::WorkerId, Worker> workers_;
};

// Whose doing the end of a plain command was, and one sentence about it. Exit code 0 that nobody
// asked for means that it has finished.
struct PlainEnd {
  model::ExitClass exit_class = model::ExitClass::kLeft;
  std::string reason{};
};
PlainEnd plain_end(const os::Exit& exit, const CrewEnd& how, std::uint64_t oom_kills,
                   Duration grace);

}  // namespace edl::agent
