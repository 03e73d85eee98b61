// An agent of a job in mode stop-resume: starts a plain command as the workers of a round, watches
// them, and stops them when the round is over. The agent of `edl run` also leads: it says when a
// round ends and which one follows. Guests (`edl join`) do what the store says. What decides is in
// the cores: stop_resume.h (the rounds), crew.h (the workers here).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edl/agent/crew.h"
#include "edl/agent/footing.h"
#include "edl/agent/oom_counter.h"
#include "edl/agent/round.h"
#include "edl/agent/stop_resume.h"
#include "edl/agent/worker_guard.h"

namespace edl::agent {

class StopResumeAgent final : public os::Program {
 public:
  // The face outlives the agent. Ends the loop with the exit code of the command.
  StopResumeAgent(os::System& system, AgentOptions options, AgentFace& face);

  // Why the loop ended with 1; one sentence.
  const std::string& failure() const { return failure_; }

 private:
  struct Worker {
    std::unique_ptr<os::Child> child{};
    std::string log{};
    std::uint64_t oom_kills = 0;  // that were counted before it started
  };

  // Life: stop_resume_agent.cc.
  void on_entered();
  void on_fact(const Result<store::Fact>& fact);
  void take_round();
  void mend_end(const std::string& key);
  void act();
  void wind_down();
  void ask_to_stop();
  void leave_job();
  void tell_ends(const std::function<void()>& done);
  void finish(int code);
  void fail(const Error& error);
  void tell(const Json& event) { footing_.tell(event); }
  std::uint64_t generation() const;
  std::uint64_t announced() const;

  // Workers: stop_resume_workers.cc.
  void keep_crew();
  bool must_stop() const;
  void start_worker(const model::WorkerId& id);
  void on_exit(const model::WorkerId& id, os::Exit exit);
  void on_end(const model::WorkerId& id, os::Exit exit, const PlainEnd& end, bool asked);
  void terminate(const model::WorkerId& id);
  void kill(const model::WorkerId& id);
  void note_in_log(const std::string& log, const std::string& sentence);
  Json member_json(const model::WorkerId& id, int pid, model::WorkerState state,
                   const std::string& reason) const;
  std::string agent_id() const { return footing_.is_guest() ? footing_.claim() : ""; }

  // Rounds, of the agent of `edl run`: stop_resume_rounds.cc.
  void lead();
  RoundFacts round_facts() const;
  SeatFacts seat_facts(const model::Member& member, const std::string& agent) const;
  void announce(const RoundDecision& why);
  void start_round(const RoundDecision& why);
  void publish(const RoundDecision& why, const std::vector<std::string>& ids);
  std::vector<RoundGroup> groups_of(const std::vector<std::string>& ids) const;
  Result<std::uint16_t> free_port();
  void end_job(const RoundDecision& end);
  void tell_effect(const RoundFacts& facts);
  void put_progress(const std::string& state, const std::string& reason);

  os::System& system_;
  const AgentOptions options_;
  AgentFace& face_;
  const Time began_;
  Footing footing_;
  OomCounter oom_;
  JobPicture picture_;
  std::optional<Round> round_;  // the newest
  Crew crew_;
  StopResume rounds_;
  std::unique_ptr<WorkerGuard> guard_;
  std::unique_ptr<store::Registration> registration_;  // of the agent of `edl run`
  std::map<model::WorkerId, Worker> workers_;
  std::map<model::WorkerId, Json> ends_;  // of the newest round, as their keys say
  std::uint64_t announced_ = 0;           // the round for which we asked all to stop
  bool publishing_ = false;
  bool ending_ = false;  // the result is being written
  // Of the change under way: since when there is one, was announced, was published.
  std::optional<Time> noticed_;
  std::optional<Time> agreed_from_;
  std::optional<Time> published_;
  std::optional<double> last_pause_ms_;
  std::string progress_;
  bool registered_ = false;
  bool leaving_ = false;
  bool current_ = false;  // the picture is whole
  bool over_ = false;
  int interrupts_ = 0;
  std::string failure_;
  os::Pending following_;
  os::Pending crew_alarm_;
  os::Pending round_alarm_;
};

}  // namespace edl::agent
