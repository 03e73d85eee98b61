// AFS-L (Hwang et al., 2021): slots are given one by one to the winner of a tournament. Of two jobs
// l has less time left and h more; h wins when a slot speeds it up more than it would l:
//   (p_h(u+1) - p_h(u)) / p_h(u+1) > (p_l(u+1) - p_l(u)) / p_l(u)
#include "edl/scheduler/policies/all.h"
#include "edl/scheduler/settle.h"
#include "edl/scheduler/sizes.h"
#include "edl/scheduler/speed.h"

namespace edl::scheduler {
namespace {

class Tournament {
 public:
  explicit Tournament(const Snapshot& snapshot)
      : snapshot_(snapshot), sizes_(snapshot.jobs.size()), left_(slots_of(snapshot)) {
    for (const Tenant& tenant : snapshot.tenants) quota_.push_back(tenant.quota);
    for (const Job& job : snapshot.jobs) {
      curves_.emplace_back(job);
      players_.push_back({});
    }
    for (std::size_t j = 0; j < players_.size(); ++j) refresh(j);
  }

  Sizes run() {
    JobOrder in = by_submission(snapshot_);
    while (!in.empty()) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < in.size(); ++i) {
        if (beats(in[i], in[best])) best = i;
      }
      const std::size_t j = in[best];
      if (!grow(j)) in.erase(in.begin() + static_cast<std::ptrdiff_t>(best));
    }
    return sizes_;
  }

 private:
  struct Player {
    double speed = 0;   // with what it has
    double next = 0;    // with one more step
    double left_s = 0;  // seconds, at its share or at the first step
  };

  std::uint32_t step(std::size_t j) const { return sizes_[j] == 0 ? snapshot_.jobs[j].min : 1; }
  double speed(std::size_t j, std::uint32_t workers) const {
    const Job& job = snapshot_.jobs[j];
    return curves_[j].at(workers, packed_nodes(snapshot_, job, workers));
  }
  void refresh(std::size_t j) {
    const Job& job = snapshot_.jobs[j];
    Player& player = players_[j];
    player.speed = speed(j, sizes_[j]);
    player.next = speed(j, sizes_[j] + step(j));
    const double at = sizes_[j] == 0 ? player.next : player.speed;
    player.left_s = remaining_work(job, speed(j, 1)) / at;
  }
  bool beats(std::size_t a, std::size_t b) const {
    if (snapshot_.jobs[a].priority != snapshot_.jobs[b].priority) {
      return snapshot_.jobs[a].priority > snapshot_.jobs[b].priority;
    }
    const bool a_is_shorter = players_[a].left_s < players_[b].left_s;
    if (sizes_[a] == 0 && sizes_[b] == 0) return a_is_shorter;
    // Who has nothing yet gains without bound.
    if (sizes_[a] == 0 || sizes_[b] == 0) return sizes_[a] == 0;
    const Player& low = a_is_shorter ? players_[a] : players_[b];
    const Player& high = a_is_shorter ? players_[b] : players_[a];
    const bool high_wins =
        (high.next - high.speed) / high.next > (low.next - low.speed) / low.speed;
    return high_wins != a_is_shorter;
  }
  bool grow(std::size_t j) {
    const Job& job = snapshot_.jobs[j];
    const std::uint64_t need = std::uint64_t{step(j)} * job.slots_per_worker;
    if (sizes_[j] + step(j) > job.max || need > left_) return false;
    if (job.tenant && need > quota_[*job.tenant]) return false;
    if (players_[j].next <= players_[j].speed) return false;
    left_ -= need;
    if (job.tenant) quota_[*job.tenant] -= need;
    sizes_[j] += step(j);
    refresh(j);
    return true;
  }

  const Snapshot& snapshot_;
  Sizes sizes_;
  std::uint64_t left_;
  std::vector<std::uint64_t> quota_;
  std::vector<SpeedCurve> curves_;
  std::vector<Player> players_;
};

void decide(Draft& draft) {
  settle(draft, Tournament(draft.snapshot()).run());
  explain_sizes(draft, "each slot goes to the winner of a tournament");
}

}  // namespace

const Policy kAfs{.name = "afs",
                  .about = "slots one by one, by time left and marginal speed (AFS-L)",
                  .decide = decide};

}  // namespace edl::scheduler
