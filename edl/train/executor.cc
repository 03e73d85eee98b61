#include "edl/train/executor.h"

namespace edl::train {

ThreadExecutor::ThreadExecutor(os::System& system, const std::string& name)
    : system_(system), thread_(name, [this] { work_on(); }) {}

void ThreadExecutor::work_on() {
  std::deque<Work> unfinished;
  while (!works_.closed()) {
    std::optional<Work> work = works_.receive(unfinished.empty() ? Duration(1s) : Duration());
    if (!work && unfinished.empty()) continue;
    if (!work) {
      work = std::move(unfinished.front());
      unfinished.pop_front();
    }
    if (work->piece()) {
      unfinished.push_back(*std::move(work));
      continue;
    }
    // The work's own objects end here, on this thread; the rest on the loop's.
    work->piece = nullptr;
    tell(std::move(work->done));
  }
  bool ended = true;
  ended_.send(ended, 0s);
}

void ThreadExecutor::tell(os::Task news) {
  system_.post([alive = alive_, news = std::move(news)] {
    if (*alive) news();
  });
}

ThreadExecutor::~ThreadExecutor() {
  *alive_ = false;
  works_.close();
}

bool ThreadExecutor::end_within(Duration limit) {
  *alive_ = false;
  works_.close();
  return ended_.receive(limit).has_value();
}

void ThreadExecutor::run_pieces(std::function<bool()> piece, os::Task done) {
  Work work{std::move(piece), std::move(done)};
  EDL_CHECK(works_.send(work, 0s), "too much work for the training thread");
}

void TimedExecutor::run_pieces(std::function<bool()> piece, os::Task done) {
  waiting_.push_back({std::move(piece), std::move(done)});
  if (!busy_) next();
}

void TimedExecutor::next() {
  if (waiting_.empty()) return;
  busy_ = true;
  working_ = system_.after(cost_(), [this] {
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = false;
    const std::shared_ptr<bool> alive = alive_;
    const bool has_more = work.piece();
    if (!*alive) return;
    if (has_more) {
      waiting_.push_back(std::move(work));
    } else {
      work.piece = nullptr;
      tell(std::move(work.done));
    }
    if (*alive && !busy_) next();
  });
}

// News that are not late come in the middle of a piece, as from a thread that computes on.
void TimedExecutor::tell(os::Task news) {
  const Duration delay = delay_();
  if (told_.empty() && delay == Duration()) return news();
  told_.push_back(std::move(news));
  if (told_.size() == 1) deliver(delay);
}

// In order, one after the other.
void TimedExecutor::deliver(Duration delay) {
  delivering_ = system_.after(delay, [this] {
    const os::Task news = std::move(told_.front());
    const std::shared_ptr<bool> alive = alive_;
    news();
    if (!*alive) return;
    told_.pop_front();
    if (!told_.empty()) deliver(delay_());
  });
}

}  // namespace edl::train
