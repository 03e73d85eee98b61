#include "edl/simulator/simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "edl/base/random.h"
#include "edl/base/text.h"

namespace edl::simulator {
namespace {

using scheduler::Shares;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kLookAgainSeconds = 60;  // when decisions fall on events and none comes
constexpr int kIdleDecisionsMax = 1000;

// One job that has come and is not over; its place is that of its job in the snapshot.
struct Active {
  std::size_t index = 0;  // in the trace
  std::unique_ptr<JobModel> model{};
  double pause = 0;         // seconds until it computes
  double crowd_before = 0;  // the sum of active jobs over time when it came
  bool over = false;
};

class Simulation {
 public:
  Simulation(const Trace& trace, const scheduler::Policy& policy, const SimulationOptions& options)
      : trace_(trace), policy_(policy), options_(options) {
    snapshot_.nodes = options.nodes;
    snapshot_.tenants = options.tenants;
    for (const TraceJob& job : trace.jobs) {
      outcome_.jobs.push_back({.name = job.name, .submitted = job.submitted});
    }
    model_options_.node_slots = 1;
    for (const scheduler::Node& node : options.nodes) {
      model_options_.node_slots = std::max(model_options_.node_slots, node.slots);
    }
    if (!trace.jobs.empty()) now_ = trace.jobs.front().submitted;
    if (options.interval > 0) now_ = std::floor(now_ / options.interval) * options.interval;
    decided_at_ = now_;
    model_options_.adapts_batch = options.adapts_batch;
    model_options_.whole_seconds = options.interval >= 1;
  }

  Result<Outcome> run() {
    while (arrived_ < trace_.jobs.size() || !active_.empty()) {
      const double next = next_moment();
      advance(next);
      change_capacity();
      remove_finished();
      if (!decides_now()) continue;
      admit();
      if (active_.empty()) continue;
      decide();
      EDL_TRY(look_for_deadlock());
    }
    return std::move(outcome_);
  }

 private:
  double next_arrival() const {
    return arrived_ < trace_.jobs.size() ? trace_.jobs[arrived_].submitted : kNever;
  }
  double next_capacity() const {
    return capacity_ < options_.capacity.size() ? options_.capacity[capacity_].at : kNever;
  }
  double next_moment() {
    if (options_.interval > 0) {
      double tick = decided_at_ + options_.interval;
      if (active_.empty()) {
        const double ticks = std::ceil(next_arrival() / options_.interval);
        tick = std::max(ticks * options_.interval, tick);
      }
      tick_ = tick;
      return std::max(now_, std::min(tick, next_capacity()));
    }
    double next = std::min(next_arrival(), next_capacity());
    double change = active_.empty() ? kNever : decided_at_ + kLookAgainSeconds;
    for (const Active& job : active_) {
      change = std::min(change, now_ + job.pause + job.model->next_change());
    }
    next = std::min(next, change);
    return std::max(now_, next);
  }
  bool decides_now() const {
    if (options_.interval > 0) return now_ >= tick_;
    return true;
  }

  void advance(double to) {
    const double seconds = to - now_;
    std::uint64_t waiting = 0;
    for (std::size_t i = 0; i < active_.size(); ++i) waiting += run_job(i, seconds) ? 0 : 1;
    outcome_.queue_seconds += seconds * static_cast<double>(waiting);
    outcome_.slot_seconds += seconds * static_cast<double>(scheduler::slots_of(snapshot_));
    crowd_ += seconds * static_cast<double>(active_.size());
    now_ = to;
  }
  // False when it waits.
  bool run_job(std::size_t i, double seconds) {
    scheduler::Job& job = snapshot_.jobs[i];
    Active& active = active_[i];
    const std::uint64_t slots =
        std::uint64_t{scheduler::workers_of(job.current)} * job.slots_per_worker;
    if (slots == 0) return false;
    const double delay = std::min(active.pause, seconds);
    active.pause -= delay;
    double spent = seconds;
    if (const auto ended = active.model->run(seconds - delay)) {
      spent = delay + *ended;
      finish(i, now_ + spent);
    }
    job.attained_s += seconds * static_cast<double>(slots);
    outcome_.used_slot_seconds += spent * static_cast<double>(slots);
    return true;
  }
  void finish(std::size_t i, double at) {
    Active& active = active_[i];
    active.over = true;
    JobOutcome& out = outcome_.jobs[active.index];
    out.finished = at;
    outcome_.ended = std::max(outcome_.ended, at);
    const double life = std::max(at - out.submitted, 1e-9);
    const double crowd =
        crowd_ - active.crowd_before + (at - now_) * static_cast<double>(active_.size());
    const double others = std::max(crowd / life, 1.0);
    const auto slots = static_cast<double>(scheduler::slots_of(snapshot_));
    const auto share = static_cast<std::uint32_t>(std::max(std::floor(slots / others), 1.0));
    const std::uint32_t workers = std::max(share / snapshot_.jobs[i].slots_per_worker, 1U);
    out.fair_ratio = life / active.model->alone_seconds(workers, model_options_.node_slots);
    ++ended_;
    if (options_.progress) {
      options_.progress(static_cast<double>(ended_) / static_cast<double>(trace_.jobs.size()));
    }
  }

  void remove_finished() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      if (active_[i].over) {
        note_size(i, 0);
        continue;
      }
      if (kept != i) {
        active_[kept] = std::move(active_[i]);
        snapshot_.jobs[kept] = std::move(snapshot_.jobs[i]);
      }
      ++kept;
    }
    active_.resize(kept);
    snapshot_.jobs.resize(kept);
  }

  void admit() {
    while (next_arrival() <= now_) {
      const TraceJob& coming = trace_.jobs[arrived_];
      active_.push_back(
          {.index = arrived_, .model = coming.make(model_options_), .crowd_before = crowd_});
      scheduler::Job& job = snapshot_.jobs.emplace_back();
      job.name = coming.name;
      job.submitted = coming.submitted;
      job.since = coming.submitted;
      job.wanted = coming.wanted;
      job.priority = coming.priority;
      job.change_cost_s = options_.change_seconds;
      job.tenant = tenant(coming.tenant);
      ++arrived_;
    }
  }
  std::optional<std::uint32_t> tenant(const std::string& name) {
    if (name.empty()) return std::nullopt;
    for (std::uint32_t t = 0; t < snapshot_.tenants.size(); ++t) {
      if (snapshot_.tenants[t].name == name) return t;
    }
    snapshot_.tenants.push_back({.name = name});
    return static_cast<std::uint32_t>(snapshot_.tenants.size() - 1);
  }

  void change_capacity() {
    while (next_capacity() <= now_) {
      const CapacityChange& change = options_.capacity[capacity_++];
      scheduler::Node& node = snapshot_.nodes[change.node];
      node.slots = change.slots;
      evict(change.node);
    }
  }
  // Takes workers from the newest jobs until the node's slots suffice.
  void evict(std::uint32_t node) {
    std::uint64_t used = 0;
    for (const scheduler::Job& job : snapshot_.jobs) {
      for (const scheduler::Share& share : job.current) {
        if (share.node == node) used += std::uint64_t{share.count} * job.slots_per_worker;
      }
    }
    for (std::size_t i = snapshot_.jobs.size(); i-- > 0 && used > snapshot_.nodes[node].slots;) {
      scheduler::Job& job = snapshot_.jobs[i];
      Shares left = job.current;
      for (scheduler::Share& share : left) {
        while (share.node == node && share.count > 0 && used > snapshot_.nodes[node].slots) {
          --share.count;
          used -= job.slots_per_worker;
        }
      }
      std::erase_if(left, [](const scheduler::Share& share) { return share.count == 0; });
      if (left == job.current) continue;
      if (scheduler::workers_of(left) < job.min) {
        for (const scheduler::Share& share : left) {
          if (share.node == node) used -= std::uint64_t{share.count} * job.slots_per_worker;
        }
        left.clear();
      }
      move(i, left);
    }
  }

  void decide() {
    decided_at_ = now_;
    snapshot_.now = now_;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      scheduler::Job& job = snapshot_.jobs[i];
      active_[i].model->report(job, options_.declared);
      if (job.wanted > 0) job.max = std::max(job.max, policy_.resizes ? 0 : job.wanted);
    }
    const double before = options_.clock ? options_.clock() : 0;
    const scheduler::Plan plan = scheduler::plan(snapshot_, policy_, {.rules = options_.rules});
    if (options_.clock) outcome_.plan_seconds.push_back(options_.clock() - before);
    for (std::size_t i = 0; i < active_.size(); ++i) {
      snapshot_.jobs[i].note = plan.allocations[i].note;
      if (plan.allocations[i].workers != snapshot_.jobs[i].current) {
        move(i, plan.allocations[i].workers);
      }
    }
    if (options_.keep_timeline) keep_moment();
  }
  void move(std::size_t i, const Shares& shares) {
    scheduler::Job& job = snapshot_.jobs[i];
    const bool ran = scheduler::is_running(job);
    job.current = shares;
    Placement placement;
    double speed = 1;
    for (const scheduler::Share& share : shares) {
      placement.push_back(share.count);
      speed = placement.size() == 1 ? snapshot_.nodes[share.node].speed
                                    : std::min(speed, snapshot_.nodes[share.node].speed);
    }
    JobOutcome& out = outcome_.jobs[active_[i].index];
    active_[i].model->place(placement, speed * noise(i));
    if (ran != !shares.empty()) job.since = now_;
    note_size(i, scheduler::workers_of(shares));
    if (shares.empty()) return;
    active_[i].pause = options_.change_seconds;
    job.frozen_until = now_ + options_.freeze_seconds;
    if (out.started < 0) {
      out.started = now_;
    } else {
      job.changes = ++out.changes;
    }
  }
  // The same job at the same change meets the same luck, whatever happens to others.
  double noise(std::size_t i) const {
    if (options_.noise <= 0) return 1;
    const std::uint64_t place = (active_[i].index << 20) + outcome_.jobs[active_[i].index].changes;
    const auto luck = static_cast<double>(Random(options_.seed ^ mix64(place)).below(2001)) / 1000;
    return 1 + options_.noise * (luck - 1);
  }
  void note_size(std::size_t i, std::uint32_t workers) {
    if (!options_.keep_timeline) return;
    const JobOutcome& out = outcome_.jobs[active_[i].index];
    outcome_.jobs[active_[i].index].sizes.emplace_back(
        workers == 0 && out.finished >= 0 ? out.finished : now_, workers);
  }
  void keep_moment() {
    Moment moment{.at = now_, .slots = scheduler::slots_of(snapshot_)};
    for (const scheduler::Job& job : snapshot_.jobs) {
      const std::uint32_t workers = scheduler::workers_of(job.current);
      moment.used += std::uint64_t{workers} * job.slots_per_worker;
      ++(workers == 0 ? moment.waiting : moment.running);
    }
    outcome_.timeline.push_back(moment);
  }

  Result<void> look_for_deadlock() {
    const bool runs =
        std::any_of(snapshot_.jobs.begin(), snapshot_.jobs.end(), scheduler::is_running);
    const bool comes = next_arrival() < kNever || next_capacity() < kNever;
    idle_ = runs || comes ? 0 : idle_ + 1;
    if (idle_ <= kIdleDecisionsMax) return {};
    const scheduler::Job& job = snapshot_.jobs.front();
    return Error{
        Code::kExhausted,
        text("job ", job.name, " and ", snapshot_.jobs.size() - 1, " others wait for ever under ",
             policy_.name, ": it needs ", job.min, " to ", job.max, " workers of ",
             job.slots_per_worker, " slots, and the cluster has ", scheduler::slots_of(snapshot_))};
  }

  const Trace& trace_;
  const scheduler::Policy& policy_;
  const SimulationOptions& options_;
  ModelOptions model_options_{};
  scheduler::Snapshot snapshot_{};
  std::vector<Active> active_{};
  Outcome outcome_{};
  double now_ = 0;
  double tick_ = 0;
  double decided_at_ = 0;
  double crowd_ = 0;
  std::size_t arrived_ = 0;
  std::size_t ended_ = 0;
  std::size_t capacity_ = 0;
  int idle_ = 0;
};

}  // namespace

Result<Outcome> simulate(const Trace& trace, const scheduler::Policy& policy,
                         const SimulationOptions& options) {
  return Simulation(trace, policy, options).run();
}

}  // namespace edl::simulator
