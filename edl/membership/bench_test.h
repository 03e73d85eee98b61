// One core, told what a test says, and what it answered.
#pragma once

#include <gtest/gtest.h>

#include "edl/membership/core.h"

namespace edl::membership {

using model::Ballot;
using model::Generation;
using model::Revision;
using model::Step;

constexpr Duration kSilence = 1s;

inline model::Position after(std::uint64_t step) { return {model::Epoch(), step * 8, Step(step)}; }

inline Rules rules() { return {.logical_workers = 8, .min = 1, .max = 4, .batch = 8}; }

inline model::View view_of(const Ids& ids, std::uint64_t generation, std::uint64_t first_step) {
  model::View view;
  view.generation = Generation(generation);
  view.first_step = Step(first_step);
  view.position = (first_step - 1) * 8;
  view.batch = rules().batch_of(ids.size());
  for (const std::string& id : ids) {
    view.members.push_back({.id = id, .address = id + ":1", .host = "host", .logical = {}});
  }
  for (std::uint32_t v = 0; v < 8; ++v) {
    view.members[v * ids.size() / 8].logical.emplace_back(v);
  }
  return view;
}

// A worker, and what it was told to do since it was last asked.
class Bench {
 public:
  explicit Bench(const std::string& self, const Rules& rules_of_job = rules())
      : core(self, rules_of_job) {}

  // All of a job's members, of which `leader` leads, have completed step 5 in view 1.
  static Bench member(const std::string& self, const Ids& ids, const std::string& leader,
                      const Rules& rules_of_job = rules()) {
    Bench bench(self, rules_of_job);
    Core& core = bench.core;
    core.set_time(bench.now, kSilence);
    core.on_wanted({.workers = static_cast<std::uint32_t>(ids.size()), .by = "ann"});
    for (const std::string& id : ids) core.on_registered(id, {id + ":1", "host"});
    for (const std::string& id : ids) {
      if (id != self) core.on_link(id, true);
    }
    core.on_current();
    core.on_state(after(5));
    core.on_leader(Ballot(10), leader);
    core.on_view(view_of(ids, 1, 6), Revision(11));
    if (leader == self) {
      // It has led since before this view.
      core.on_elected(Ballot(10), view_of(ids, 1, 6), Revision(11));
      for (const std::string& id : ids) {
        if (id != self) bench.promise(id, 10, 2, 5);
      }
      core.on_published(true, Revision(12));
    }
    bench.take();
    return bench;
  }

  // Was let in by the first of the members and is to get their state.
  static Bench joiner(const std::string& self, const Ids& members) {
    Bench bench(self);
    Core& core = bench.core;
    core.on_wanted({.workers = static_cast<std::uint32_t>(members.size() + 1)});
    core.on_registered(self, {});
    for (const std::string& id : members) {
      core.on_registered(id, {});
      core.on_link(id, true);
    }
    core.on_leader(Ballot(10), members.front());
    core.on_view(view_of(members, 1, 1), Revision(11));
    core.on_current();
    core.on_message(members.front(),
                    {.kind = Kind::kAdmit, .ballot = Ballot(10), .ids = {members.back()}});
    return bench;
  }

  // As a leader: these come and ask to be members.
  void is_asked_by(const Ids& ids) {
    for (const std::string& id : ids) {
      core.on_registered(id, {});
      core.on_link(id, true);
      core.on_message(id, {.kind = Kind::kJoin});
    }
  }

  void promise(const std::string& from, std::uint64_t ballot, std::uint64_t generation,
               std::uint64_t step, const Ids& unreachable = {}) {
    core.on_message(from, {.kind = Kind::kPromise,
                           .ballot = Ballot(ballot),
                           .generation = Generation(generation),
                           .here = after(step),
                           .ids = unreachable});
  }
  void prepare(const std::string& from, std::uint64_t ballot, std::uint64_t generation,
               std::uint64_t stop_after = 0) {
    core.on_message(from, {.kind = Kind::kPrepare,
                           .ballot = Ballot(ballot),
                           .generation = Generation(generation),
                           .step = Step(stop_after)});
  }
  void hand_over(const std::string& from, std::uint64_t ballot, std::uint64_t generation,
                 const std::pair<std::uint64_t, std::string>& step_and_who) {
    core.on_message(from, {.kind = Kind::kHandOver,
                           .ballot = Ballot(ballot),
                           .generation = Generation(generation),
                           .step = Step(step_and_who.first),
                           .who = step_and_who.second});
  }
  void wait(Duration time) {
    now += time;
    core.set_time(now, kSilence);
    core.look();
  }

  // All actions in words, and again nothing.
  std::string take() {
    std::string all;
    last = core.take_actions();
    for (const Action& action : last) all += action_text(action) + "\n";
    return all;
  }
  template <class A>
  std::vector<A> take_all() {
    std::vector<A> found;
    for (const Action& action : core.take_actions()) {
      if (const auto* one = std::get_if<A>(&action)) found.push_back(*one);
    }
    return found;
  }
  std::optional<Message> sent(Kind kind) {
    std::optional<Message> found;
    for (const Send& send : take_all<Send>()) {
      if (send.message.kind == kind) found = send.message;
    }
    return found;
  }

  Core core;
  Time now{};
  std::vector<Action> last;
};

}  // namespace edl::membership
