// An agent: starts the workers of a job on this machine, watches and replaces them until `wanted`
// is reached, and tells what happens. `edl run` and `edl resume` are one with a store and a
// directory, `edl join` is one for a job that runs elsewhere; footing.h is what they share. What
// decides is in the cores: replacement.h, exit_class.h, event_log.h, picture.h.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "edl/agent/footing.h"
#include "edl/agent/oom_counter.h"
#include "edl/agent/replacement.h"
#include "edl/agent/worker_process.h"
#include "edl/agent/worker_starter.h"

namespace edl::agent {

class Agent final : public os::Program {
 public:
  // The face outlives the agent. Ends the loop with the exit code of the command.
  Agent(os::System& system, AgentOptions options, AgentFace& face);

  // Why the loop ended with 1; one sentence.
  const std::string& failure() const { return failure_; }

 private:
  // Life: agent.cc.
  void on_entered();
  void follow();
  void on_fact(const Result<store::Fact>& fact);
  void note_member(const std::string& id);
  bool has_ended(const std::string& id) const;
  void act();
  void keep_share();
  bool awaits_successor() const;
  void dismiss(std::uint32_t count);
  void choose_reporter();
  void ask_to_stop();
  void tell(const Json& event) { footing_.tell(event); }

  // Workers: agent_workers.cc.
  void start_workers(std::uint32_t count);
  void start_worker(const std::string& id);
  Json setup_json(const std::string& id) const;
  void on_frame(const std::string& id, train::ParentFrame type, const Json& body);
  void on_events(const Json& body);
  void on_state(WorkerProcess& worker, const Json& body);
  void on_firing(WorkerProcess& worker, const Json& body);
  void on_died(WorkerProcess& worker, const Json& body);
  void on_refused(WorkerProcess& worker, const Json& body);
  void on_end(const std::string& id, os::Exit exit);
  model::Exit classified(const WorkerProcess& worker, os::Exit exit) const;
  void tell_worker(const WorkerProcess& worker, const std::string& reason);
  void keep_end(const std::string& id, const Json& member);

  // The end: agent_end.cc.
  void write_failure(const JobFailure& failure);
  void write_stop();
  void wind_down();
  void tell_result();
  void leave_job(const std::string& sentence);
  void finish(int code);
  void fail(const Error& error);

  os::System& system_;
  const AgentOptions options_;
  AgentFace& face_;
  const Time began_;
  Footing footing_;
  OomCounter oom_;
  std::unique_ptr<WorkerStarter> starter_;
  JobPicture picture_;
  Replacement replacement_;
  std::map<std::string, std::unique_ptr<WorkerProcess>> workers_;
  std::set<std::string> foreign_ends_;
  std::deque<std::pair<std::string, Json>> old_ends_;  // of ours, as their keys in the store say
  std::optional<Time> last_end_;                       // of a worker
  std::set<std::uint64_t> fired_;
  std::map<std::string, os::Pending> continues_;
  std::string reporter_;
  std::uint32_t starting_ = 0;  // that have no name yet
  Time successor_until_{};      // the wish for one is void then, unless it is repeated
  int interrupts_ = 0;
  bool current_ = false;  // the picture is whole
  bool ending_ = false;
  bool failing_ = false;
  std::string failure_;
  os::Pending following_;
  os::Pending alarm_;
  os::Pending end_alarm_;
};

}  // namespace edl::agent
