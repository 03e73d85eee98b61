// What every agent stands on: the events of its job, the store, and its entry in that store as a
// new job, as one that goes on, or as a guest of one that runs elsewhere.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edl/agent/agent_options.h"
#include "edl/agent/event_file.h"
#include "edl/agent/job_store.h"
#include "edl/agent/store_process.h"
#include "edl/store/etcd_store.h"
#include "edl/store/registration.h"

namespace edl::agent {

class Footing {
 public:
  struct Callbacks {
    // The job is ours to work on; `job` and `store` may be called from now on.
    std::function<void()> on_entered;
    std::function<void(const Error&)> on_failed;
    // Of a guest: whether the others can see that it is there.
    std::function<void(bool registered)> on_registered = [](bool) {};
  };

  // Options and face outlive it.
  Footing(os::System& system, const AgentOptions& options, AgentFace& face, Callbacks callbacks);

  void begin();
  // Writes an event to its file and shows it, if it is one that is told.
  void tell(const Json& event);
  // That the job begins, with what only its mode knows of it.
  void tell_started(const Json& more);
  // A stop of the whole job is wanted.
  void ask_to_stop();
  // A guest goes: as many workers less are wanted as it lent, as far as the minimum allows.
  void ask_for_fewer(std::function<void()> done);
  // How the job ended; an error when it failed, with the end of the log of who crashed.
  Result<void> tell_end(const Json& result);
  // Ends the job's own store, unless somebody still needs it, and then the loop.
  void finish(int code, bool store_is_needed);

  bool is_guest() const { return options_.mode == AgentMode::kJoin; }
  const std::string& claim() const { return claim_; }  // made up, to know our own job again
  const EventLog& log() const { return log_; }
  const std::vector<std::string>& urls() const { return urls_; }  // of the store
  std::string token() const { return store_process_ ? store_process_->token() : options_.token; }
  JobStore& job() { return *job_store_; }
  store::EtcdStore& store() { return *store_; }
  // A guest takes its name out of the list of agents.
  void leave(std::function<void()> done) { registration_->leave(std::move(done)); }

 private:
  void say_last_words(const std::string& log);
  void open_store(const std::vector<std::string>& urls);
  Result<void> write_run_file(bool entering) const;
  void wait_for_store();
  void enter(const JobPicture& picture);
  void enter_new(const JobPicture& picture);
  void enter_again(const JobPicture& picture);
  void enter_as_guest(const JobPicture& picture);
  void say_ended(const JobPicture& picture, store::Change& change) const;
  void tell_untold_views(const JobPicture& picture);
  bool is_ours(const Json& member) const;
  const std::string* living_guest(const JobPicture& picture) const;
  std::optional<Error> other_numbers(const JobPicture& picture) const;
  std::optional<Error> nothing_to_go_on_from(const JobPicture& picture) const;
  void ask_for_more();
  void entered(bool happened);
  Json spec_json() const;

  os::System& system_;
  const AgentOptions& options_;
  AgentFace& face_;
  const Callbacks callbacks_;
  const std::string claim_;
  EventLog log_;
  std::unique_ptr<EventFile> events_;
  std::unique_ptr<StoreProcess> store_process_;
  std::vector<std::string> urls_;
  std::unique_ptr<store::EtcdStore> store_;
  std::unique_ptr<JobStore> job_store_;
  os::Pending waiting_;                           // for the store's first answer
  std::optional<store::Revision> wanted_before_;  // when we first looked
  std::unique_ptr<store::Registration> registration_;
};

}  // namespace edl::agent
