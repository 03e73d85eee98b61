// One call of the store until its deadline: tried again while the ensemble is away.
#pragma once

#include <algorithm>
#include <utility>

#include "edl/store/store.h"
#include "edl/store/zookeeper/ensemble.h"
#include "edl/store/zookeeper/znode.h"

namespace edl::store::zookeeper {

template <class T>
class Trial : public os::Pending::Operation {
 public:
  Trial(Ensemble& ensemble, Done<T> done) : ensemble_(ensemble), done_(std::move(done)) {
    deadline_ = system().after(ensemble.options().limit, [this] {
      finish(Error{late_, "ZooKeeper did not answer in time: is a majority of it alive?"});
    });
    retrying_ = system().after(Duration::zero(), [this] { attempt(); });
  }

 protected:
  virtual void attempt() = 0;

  os::System& system() { return ensemble_.system(); }
  Ensemble& ensemble() { return ensemble_; }

  void try_again() {
    try_again_after(pause_);
    pause_ = std::min(pause_ * 2, Duration(500ms));
  }
  // The ensemble answers, but somebody was faster.
  void try_again_at_once() { try_again_after(Duration::zero()); }
  // True when this answer is no reason to stop; otherwise the trial is over or begins anew.
  bool is_fine(const Answer& answer, const std::string& path) {
    if (answer.rc == ZOK || answer.rc == ZNONODE) return true;
    if (is_passing(answer.rc)) {
      try_again();
    } else {
      finish(error_of(answer.rc, path));
    }
    return false;
  }
  void finish(Result<T> result) {
    if (std::exchange(over_, true)) return;
    deadline_.cancel();
    retrying_.cancel();
    const auto done = done_;  // it may destroy us
    done(std::move(result));
  }

  bool over() const { return over_; }

  Code late_ = Code::kUnavailable;  // what it means when the deadline passes now

 private:
  void try_again_after(Duration pause) {
    if (!over_) retrying_ = system().after(pause, [this] { attempt(); });
  }

  Ensemble& ensemble_;
  bool over_ = false;
  const Done<T> done_;
  Duration pause_ = 10ms;
  os::Pending deadline_;
  os::Pending retrying_;
};

}  // namespace edl::store::zookeeper
