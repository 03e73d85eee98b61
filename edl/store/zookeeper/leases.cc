#include "edl/store/zookeeper/leases.h"

#include "edl/base/text.h"
#include "edl/store/zookeeper/trial.h"

namespace edl::store::zookeeper {
namespace {

class Granting final : public Trial<LeaseId> {
 public:
  Granting(Ensemble& ensemble, Leases& leases, Duration length, Done<LeaseId> done)
      : Trial(ensemble, std::move(done)), leases_(leases), length_(length) {}

 private:
  void attempt() override {
    session_ = Session::open(system(), {.hosts = ensemble().options().hosts,
                                        .timeout = length_,
                                        .on_connected = [this] { on_connected(); },
                                        .on_over = [this] { try_again(); }});
  }
  void on_connected() {
    if (!over()) finish(leases_.add(std::move(session_), length_));
  }

  Leases& leases_;
  const Duration length_;
  std::shared_ptr<Session> session_;
};

class Renewing final : public Trial<Duration> {
 public:
  Renewing(Ensemble& ensemble, Leases& leases, LeaseId id, Done<Duration> done)
      : Trial(ensemble, std::move(done)), leases_(leases), id_(id) {}

 private:
  // Any request renews the session at the server; its answer says that it did.
  void attempt() override {
    Leases::Lease* lease = leases_.find(id_);
    if (lease == nullptr) return finish(no_such_lease(id_));
    asked_ = system().now();
    call_ = lease->session->exists("/", Session::Watch::kNo,
                                   [this](const Answer& answer) { on_answer(answer); });
  }
  void on_answer(const Answer& answer) {
    if (answer.rc == ZSESSIONEXPIRED) leases_.end(id_);
    Leases::Lease* lease = leases_.find(id_);
    if (lease == nullptr) return finish(no_such_lease(id_));
    if (!is_fine(answer, "/")) return;
    leases_.extend(id_, asked_);
    finish(std::min(lease->length, lease->session->timeout()));
  }

  Leases& leases_;
  const LeaseId id_;
  Time asked_{};
  os::Pending call_;
};

class Revoking final : public Trial<void>, private Listener {
 public:
  Revoking(Ensemble& ensemble, Leases& leases, LeaseId id, Done<void> done)
      : Trial(ensemble, std::move(done)), leases_(leases), id_(id) {
    ensemble.add(*this);
  }
  ~Revoking() override { ensemble().remove(*this); }

 private:
  void attempt() override {
    if (!ended_) {
      if (leases_.find(id_) == nullptr) return finish(no_such_lease(id_));
      late_ = Code::kTimeout;
      keys_ = leases_.end(id_);
      ended_ = true;
    }
    if (keys_.empty()) return finish({});
    const auto keys = keys_;
    for (const std::string& key : keys) look(key);
  }
  void look(const std::string& key) {
    calls_[key] = ensemble().session().exists(
        key, Session::Watch::kYes, [this, key](const Answer& answer) { on_looked(key, answer); });
  }
  void on_looked(const std::string& key, const Answer& answer) {
    if (!is_fine(answer, key)) return;
    if (answer.rc == ZOK && answer.stat.ephemeralOwner == id_) return;  // on_changed will come
    keys_.erase(key);
    if (keys_.empty()) finish({});
  }
  void on_changed(const std::string& path) override {
    if (ended_ && !over() && keys_.contains(path)) look(path);
  }
  void on_new_session() override {
    if (!over()) try_again_at_once();
  }

  Leases& leases_;
  const LeaseId id_;
  bool ended_ = false;
  std::set<std::string> keys_;  // that may still be there
  std::map<std::string, os::Pending> calls_;
};

}  // namespace

Error no_such_lease(LeaseId id) {
  return {Code::kNotFound, text("there is no lease ", id, " of this process, or it is over")};
}

Leases::Lease* Leases::find(LeaseId id) {
  const auto found = leases_.find(id);
  return found == leases_.end() ? nullptr : &found->second;
}

LeaseId Leases::add(std::shared_ptr<Session> session, Duration length) {
  const LeaseId id = session->id();
  session->hand_over([this, id] { end(id); });
  leases_[id] = {.session = std::move(session), .length = length};
  extend(id, ensemble_.system().now());
  return id;
}

void Leases::extend(LeaseId id, Time from) {
  Lease& lease = leases_.at(id);
  const Duration left = from + lease.length - ensemble_.system().now();
  lease.end = ensemble_.system().after(left, [this, id] { end(id); });
}

std::set<std::string> Leases::end(LeaseId id) {
  auto lease = leases_.extract(id);
  if (lease.empty()) return {};
  lease.mapped().session->close();
  return std::move(lease.mapped().keys);
}

os::Pending grant_lease(Ensemble& ensemble, Leases& leases, Duration length, Done<LeaseId> done) {
  return os::Pending(std::make_unique<Granting>(ensemble, leases, length, std::move(done)));
}

os::Pending renew_lease(Ensemble& ensemble, Leases& leases, LeaseId id, Done<Duration> done) {
  return os::Pending(std::make_unique<Renewing>(ensemble, leases, id, std::move(done)));
}

os::Pending revoke_lease(Ensemble& ensemble, Leases& leases, LeaseId id, Done<void> done) {
  return os::Pending(std::make_unique<Revoking>(ensemble, leases, id, std::move(done)));
}

}  // namespace edl::store::zookeeper
