#include "edl/train/executor.h"

namespace edl::train {

ThreadExecutor::ThreadExecutor(os::System& system, const std::string& name)
    : system_(system), thread_(name, [this] {
        while (!pieces_.closed()) {
          std::optional<Piece> piece = pieces_.receive(1s);
          if (!piece) continue;
          piece->work();
          // The work's own objects end here, on this thread; the rest on the loop's.
          piece->work = nullptr;
          tell(std::move(piece->done));
        }
      }) {}

void ThreadExecutor::tell(os::Task news) {
  system_.post([alive = alive_, news = std::move(news)] {
    if (*alive) news();
  });
}

ThreadExecutor::~ThreadExecutor() {
  *alive_ = false;
  pieces_.close();
}

void ThreadExecutor::run(os::Task work, os::Task done) {
  Piece piece{std::move(work), std::move(done)};
  EDL_CHECK(pieces_.send(piece, 0s), "too much work for the training thread");
}

void TimedExecutor::run(os::Task work, os::Task done) {
  waiting_.push_back({std::move(work), std::move(done)});
  if (!busy_) next();
}

void TimedExecutor::next() {
  if (waiting_.empty()) return;
  busy_ = true;
  timer_ = system_.after(cost_(), [this] {
    Piece piece = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = false;
    const std::shared_ptr<bool> alive = alive_;
    piece.work();
    piece.done();
    if (*alive && !busy_) next();
  });
}

}  // namespace edl::train
