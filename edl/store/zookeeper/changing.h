// One change: the nodes are read, the conditions looked at, and then one multi does all of it if
// the nodes still have the versions that were read. When they do not, it begins anew.
//
// A version is counted per node, so a key that is deleted and made again in between, and changed as
// often as before, is taken for the old one. Keys that are compared and never deleted (a leader's)
// are safe; ZooKeeper has nothing to compare revisions with.
#pragma once

#include <map>
#include <set>

#include "edl/store/zookeeper/trial.h"

namespace edl::store::zookeeper {

class Changing final : public Trial<Changed> {
 public:
  // In this session the multi runs; it owns the keys that are put on a lease.
  Changing(Ensemble& ensemble, std::shared_ptr<Session> session, Change change, Done<Changed> done)
      : Trial(ensemble, std::move(done)),
        session_(std::move(session)),
        change_(std::move(change)) {}

 private:
  void attempt() override;
  // True when all is well; otherwise this attempt is over.
  bool accept(const Answer& answer, const std::string& path);
  void on_read(const std::string& path, const Answer& answer);
  void decide();
  bool conditions_hold() const;
  Result<std::vector<Step>> plan() const;
  void plan_guards(std::vector<Step>& steps) const;
  Result<void> plan_put(const Change::Put& put, std::vector<Step>& steps) const;
  void plan_delete(const std::string& key, std::vector<Step>& steps) const;
  void on_multi(const Answer& answer);
  void make_parents();
  void on_parent(const std::string& path, const Answer& answer);

  bool lease_is_over() const { return session_ && session_->closed(); }
  // The session of all that hangs on no lease may be another one after each expiry.
  Session& session() { return session_ ? *session_ : ensemble().session(); }
  std::set<std::string> keys() const;

  const std::shared_ptr<Session> session_;  // of a lease, or null
  const Change change_;
  std::map<std::string, Answer> nodes_;
  std::size_t reads_left_ = 0;
  std::size_t parents_left_ = 0;
  std::vector<os::Pending> calls_;
};

// An error when ZooKeeper cannot do it: its keys, its size, a key that is changed twice.
Result<void> check_change(const Change& change);

}  // namespace edl::store::zookeeper
