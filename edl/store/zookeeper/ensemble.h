// The ensemble as a store uses it: one session at a time for all that hangs on no lease, and a new
// one when that has expired.
#pragma once

#include <set>

#include "edl/store/zookeeper/session.h"
#include "edl/store/zookeeper/zookeeper_store.h"

namespace edl::store::zookeeper {

class Listener {
 public:
  virtual ~Listener() = default;
  // What somebody read with a watch is so no longer: the node or its children.
  virtual void on_changed(const std::string& path) = 0;
  // All watches are gone.
  virtual void on_new_session() = 0;
};

class Ensemble {
 public:
  Ensemble(os::System& system, Options options);

  os::System& system() { return system_; }
  const Options& options() const { return options_; }
  Session& session() { return *session_; }

  void add(Listener& listener) { listeners_.insert(&listener); }
  void remove(Listener& listener) { listeners_.erase(&listener); }

 private:
  void open();
  void tell(const std::function<void(Listener&)>& what);

  os::System& system_;
  const Options options_;
  std::set<Listener*> listeners_;
  std::shared_ptr<Session> session_;
  os::Pending opening_;
};

}  // namespace edl::store::zookeeper
