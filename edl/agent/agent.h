// An agent: starts the workers of a job on this machine, watches and replaces them until `wanted`
// is reached, and tells what happens. `edl run` and `edl resume` are one with a store and a
// directory, `edl join` is one for a job that runs elsewhere. What decides is in the cores:
// replacement.h, exit_class.h, event_log.h, picture.h.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "edl/agent/event_file.h"
#include "edl/agent/event_log.h"
#include "edl/agent/job_directory.h"
#include "edl/agent/job_store.h"
#include "edl/agent/oom_counter.h"
#include "edl/agent/picture.h"
#include "edl/agent/replacement.h"
#include "edl/agent/store_process.h"
#include "edl/agent/worker_process.h"
#include "edl/agent/worker_starter.h"
#include "edl/model/fault.h"
#include "edl/store/etcd_store.h"
#include "edl/store/registration.h"

namespace edl::agent {

enum class AgentMode { kRun, kResume, kJoin };

struct AgentOptions {
  AgentMode mode = AgentMode::kRun;
  Launch launch{};
  JobPaths paths{};
  std::vector<std::string> store{};  // addresses; empty: a store of our own
  std::string token{};               // of that store
  std::string token_file{};
  std::string secret{};
  std::string host{};
  int pid = 0;
  std::string edl{};                // path of our own program
  std::vector<std::string> argv{};  // what a worker runs
  std::string address = "127.0.0.1";
  std::vector<model::Fault> faults{};
  std::string trace_samples{};
  bool all_events = false;
  Duration grace = 30s;
  std::uint32_t join_workers = 1;  // of kJoin
};

// Where an agent's words go.
class AgentFace {
 public:
  virtual ~AgentFace() = default;
  virtual void event(const OrderedJson& event) = 0;
  virtual void say(const std::string& sentence) = 0;
};

class Agent final : public os::Program {
 public:
  // The face outlives the agent. Ends the loop with the exit code of the command.
  Agent(os::System& system, AgentOptions options, AgentFace& face);

  // Why the loop ended with 1; one sentence.
  const std::string& failure() const { return failure_; }

 private:
  // Beginning: agent_begin.cc.
  void begin();
  void open_store(const std::vector<std::string>& urls);
  void enter(const JobPicture& picture);
  void enter_new(const JobPicture& picture);
  void enter_again(const JobPicture& picture);
  void enter_as_guest(const JobPicture& picture);
  void ask_for_more();
  void entered(bool happened);
  Json spec_json() const;

  // Life: agent.cc.
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
  void tell(const Json& event);

  // Workers: agent_workers.cc.
  void start_workers(std::uint32_t count);
  void start_worker(const std::string& id);
  Json setup_json(const std::string& id) const;
  void on_frame(const std::string& id, train::ParentFrame type, const Json& body);
  void on_events(const Json& body);
  void on_state(WorkerProcess& worker, const Json& body);
  void on_firing(WorkerProcess& worker, const Json& body);
  void on_died(WorkerProcess& worker, const Json& body);
  void on_end(const std::string& id, os::Exit exit);
  model::Exit classified(const WorkerProcess& worker, os::Exit exit) const;
  void tell_worker(const WorkerProcess& worker, const std::string& reason);
  void keep_end(const std::string& id, const Json& member);

  // The end: agent_end.cc.
  void write_failure(const JobFailure& failure);
  void write_stop();
  void wind_down();
  void tell_result();
  void leave_job();
  void finish(int code);
  void fail(const Error& error);

  os::System& system_;
  const AgentOptions options_;
  AgentFace& face_;
  const Time began_;
  const std::string claim_;  // made up, to know our own job again
  EventLog log_;
  std::unique_ptr<EventFile> events_;
  OomCounter oom_;
  std::unique_ptr<StoreProcess> store_process_;
  std::vector<std::string> urls_;  // of the store
  std::unique_ptr<store::EtcdStore> store_;
  std::unique_ptr<JobStore> job_store_;
  std::unique_ptr<store::Registration> registration_;  // of kJoin
  std::unique_ptr<WorkerStarter> starter_;
  JobPicture picture_;
  Replacement replacement_;
  std::map<std::string, std::unique_ptr<WorkerProcess>> workers_;
  std::set<std::string> foreign_ends_;
  std::deque<std::pair<std::string, Json>> old_ends_;  // of ours, as their keys in the store say
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
