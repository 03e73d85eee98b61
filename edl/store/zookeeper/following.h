// Follows a prefix: every node below its root is read with a watch on it and on its children, and
// read again when one of these fires. What happens between the two reads is seen as one change, so
// values may be skipped, but never a key's last state.
#pragma once

#include <map>

#include "edl/store/store.h"
#include "edl/store/zookeeper/ensemble.h"
#include "edl/store/zookeeper/window.h"

namespace edl::store::zookeeper {

class Following final : public os::Pending::Operation, private Listener {
 public:
  Following(Ensemble& ensemble, std::string prefix, OnFact on_fact);
  ~Following() override;

 private:
  struct Node {
    Revision told = 0;     // mod_revision of the key; 0: it is none
    bool reading = false;  // or waiting for its turn
    bool again = false;    // it changed meanwhile
    os::Pending call{};
  };

  void on_changed(const std::string& path) override;
  void on_new_session() override;

  void read(const std::string& path);
  void send(const std::string& path);
  void read_data(const std::string& path);
  void on_data(const std::string& path, const Answer& answer);
  void read_children(const std::string& path);
  void on_children(const std::string& path, const Answer& answer);
  void wait_for_root();
  void done(const std::string& path);
  void forget(const std::string& path);
  // True when the answer is of use; otherwise it is asked again, or the follow is over.
  bool accept(const std::string& path, const Answer& answer);

  bool tell(Result<Fact> fact);
  bool tell_put(const std::string& path, const Answer& answer);
  bool tell_deleted(const std::string& path, Revision revision);
  void tell_current();

  Ensemble& ensemble_;
  const std::string prefix_;
  const std::string root_;
  const OnFact on_fact_;
  std::map<std::string, Node> nodes_;  // with the root, which is no key of ours
  bool current_told_ = false;
  bool over_ = false;
  Window window_;
  os::Pending start_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace edl::store::zookeeper
