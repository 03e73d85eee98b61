// Reads all keys under a prefix as they were at one moment. ZooKeeper reads node by node, so all
// are read, and then looked at again: when no node and no list of children has changed since, that
// is how they all were in between. Otherwise it begins anew.
#pragma once

#include <map>

#include "edl/store/zookeeper/trial.h"
#include "edl/store/zookeeper/window.h"

namespace edl::store::zookeeper {

class Walk final : public Trial<std::vector<KeyValue>> {
 public:
  Walk(Ensemble& ensemble, std::string prefix, Done<std::vector<KeyValue>> done)
      : Trial(ensemble, std::move(done)), prefix_(std::move(prefix)), root_(root_of(prefix_)) {}

 private:
  // What tells whether a node has changed. Of the root only the children count.
  struct Seen {
    Revision mzxid = 0;
    Revision pzxid = 0;
    bool operator==(const Seen&) const = default;
  };

  void attempt() override;
  void visit(const std::string& path);
  void enter(const std::string& path);
  void on_node(const std::string& path, const Answer& answer);
  void on_children(const std::string& path, const Answer& answer);
  void verify();
  void on_verified(const std::string& path, const Answer& answer);
  // True when all is well; otherwise this attempt is over.
  bool accept(const Answer& answer, const std::string& path);
  void begin_anew();
  void leave();
  Seen seen(const std::string& path, const Stat& stat) const;

  const std::string prefix_;
  const std::string root_;
  std::map<std::string, Seen> nodes_;
  std::map<std::string, KeyValue> kvs_;
  bool verifying_ = false;
  Window window_;
  std::vector<os::Pending> calls_;
};

}  // namespace edl::store::zookeeper
