// The shell around the core: links, the store and the clock. It tells the core what happens, does
// what the core decides about views and elections, and passes on what is about training.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "edl/membership/keys.h"
#include "edl/membership/mesh.h"
#include "edl/membership/silence.h"
#include "edl/model/fault.h"
#include "edl/store/leader.h"
#include "edl/store/registration.h"
#include "edl/store/settle.h"

namespace edl::membership {

struct MembershipOptions {
  std::string job;
  model::WorkerId id;
  std::string host;
  std::int64_t pid = 0;
  os::Address listen{};
  wire::Secret secret;
  Rules rules{};
  Duration lease = 10s;
  double silent_steps_max = Silence::kStepsDefault;
  // With workers of the same machine.
  std::shared_ptr<wire::SharedMemoryBudget> shared_memory =
      std::make_shared<wire::SharedMemoryBudget>();
};

// A message of membership; others of the job's connections have other types, or are bulk.
inline constexpr std::uint32_t kMembershipMessage = 1;

struct MembershipEvents {
  // Warn, LeaveCollective, EnterView, TakeRecord, GetState, DropState, Halt, Exit.
  std::function<void(const Action&)> act;
  std::function<void(const model::WorkerId&, wire::Frame)> frame;
  std::function<void(const model::WorkerId&, const wire::Header&, std::uint64_t offset,
                     ConstBytes piece)>
      bulk;
  std::function<ByteSpan(const model::WorkerId&, const wire::Header&, std::uint64_t offset)>
      bulk_place{};  // as of Mesh
  // A link came up or broke; for what is not about views.
  std::function<void(const model::WorkerId&, bool up)> link = [](const model::WorkerId&, bool) {};
  // A key of the job that is not about membership (checkpoint, result ...) has changed.
  std::function<void(const std::string& name, const std::string& value)> key;
  // What else the store is to have from the moment on in which this view is published.
  std::function<std::vector<store::Change::Put>(const model::View&)> beside_view =
      [](const model::View&) { return std::vector<store::Change::Put>(); };
  // Just before these are done: promise, handover, publish.
  std::function<void(model::FaultPhase)> phase = [](model::FaultPhase) {};
};

class Membership {
 public:
  Membership(os::System& system, store::Store& store, MembershipOptions options,
             MembershipEvents events);
  ~Membership();

  // Listens, registers and follows the store.
  Result<void> start();

  // Facts of this worker: see Core.
  void on_state(const model::Position& here);
  void on_terms(const Terms& terms);
  void on_batch(std::uint64_t global, const std::string& reason);
  void on_no_state(const std::string& reason);
  void on_applying() { core_.on_applying(); }
  void on_not_applied() { core_.on_not_applied(); }
  void on_completed(const model::Position& here, Duration step);
  void on_worked(double samples_per_second, const std::optional<StateMark>& mark) {
    core_.on_worked(samples_per_second, mark);
  }
  void on_leave(model::Cause cause);
  void on_gone(const model::WorkerId& id);  // our agent saw this worker end

  const Core& core() const { return core_; }
  Mesh& mesh() { return mesh_; }
  const Silence& silence() const { return silence_; }
  bool store_is_near() const { return registration_ && registration_->registered(); }
  const JobKeys& keys() const { return keys_; }
  // Writes `value` under `key`, if we still lead. Answers whether that happened.
  [[nodiscard]] os::Pending write_as_leader(const std::string& key, const std::string& value,
                                            store::Done<bool> done);

 private:
  template <class Fact>
  void tell(Fact&& fact);
  void act();
  void perform(const Action& action);
  void perform(const Send& send);
  void perform(const TakeLead& take);
  void perform(const ReadView& read);
  void read_again(const ReadView& read);
  void read_view(const ReadView& read);
  void perform(const Announce& announce);
  void perform(const Publish& publish);
  void perform(const Complain& complain);
  void perform(const Replace& replace);
  void on_fact(const store::Fact& fact);
  void on_key(const std::string& name, const store::KeyValue& kv);
  void on_worker(const std::string& id, const store::KeyValue& kv);
  void on_frame(const model::WorkerId& from, wire::Frame frame);
  void follow();
  void beat();

  os::System& system_;
  store::Store& store_;
  const MembershipOptions options_;
  const MembershipEvents events_;
  const JobKeys keys_;
  const Log log_;
  Core core_;
  Silence silence_;
  Mesh mesh_;
  std::unique_ptr<store::Registration> registration_;
  std::deque<Action> queue_;
  bool acting_ = false;
  store::Leadership leadership_;
  os::Pending following_;
  os::Pending taking_;
  os::Pending reading_;
  os::Pending announcing_;
  os::Pending publishing_;
  os::Pending replacing_;
  std::map<std::uint64_t, os::Pending> complaining_;
  os::Pending timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace edl::membership
