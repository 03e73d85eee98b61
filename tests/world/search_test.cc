// Every order of events in a small job: three workers, up to two deaths, a false suspicion.
#include <gtest/gtest.h>

#include <cstdlib>
#include <unordered_set>

#include "edl/base/random.h"
#include "edl/base/text.h"
#include "tests/world/search_model.h"

namespace edl::tests {
namespace {

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// Depth first, each state once.
class Search {
 public:
  // With a seed it takes the events in another order: a bounded search then sees other corners.
  Search(std::uint64_t states_max, std::optional<std::uint64_t> seed) : states_max_(states_max) {
    if (seed) random_.emplace(*seed);
  }

  void run(const SearchBounds& bounds) { visit(SearchState::begin(bounds)); }

  const std::string& violation() const { return violation_; }
  std::uint64_t states() const { return seen_.size(); }
  std::uint64_t ends() const { return ends_; }
  std::uint64_t runs() const { return runs_; }

 private:
  static constexpr std::uint64_t kRunEndEvery = 20;
  static constexpr std::uint64_t kRunEvery = 1000;

  void visit(const SearchState& state) {
    if (!violation_.empty() || seen_.size() >= states_max_) return;
    if (!seen_.insert(state.hash()).second) return;
    if (!state.violation().empty()) return fail(state, state.violation());
    std::vector<SearchEvent> events = state.events();
    if (random_) shuffle(events);
    const bool is_end = std::all_of(events.begin(), events.end(), [](const SearchEvent& event) {
      return event.kind >= SearchEventKind::kTick;
    });
    ends_ += is_end ? 1 : 0;
    if ((is_end && ends_ % kRunEndEvery == 0) || seen_.size() % kRunEvery == 0) {
      ++runs_;
      if (!state.runs_to_the_end(seen_.size())) return fail(state, "it does not go on from here");
    }
    for (const SearchEvent& event : events) {
      SearchState next = state;
      next.apply(event);
      path_.push_back(event);
      visit(next);
      path_.pop_back();
      if (!violation_.empty()) return;
    }
  }

  void shuffle(std::vector<SearchEvent>& events) {
    for (std::size_t k = events.size(); k > 1; --k) {
      const auto other = random_->between(0, static_cast<std::int64_t>(k) - 1);
      std::swap(events[k - 1], events[static_cast<std::size_t>(other)]);
    }
  }

  void fail(const SearchState& state, const std::string& what) {
    violation_ = what + "\nafter:";
    for (const SearchEvent& event : path_) violation_ += text(" ", event_text(event), ";");
    violation_ += "\n" + state.text_of();
  }

  const std::uint64_t states_max_;
  std::optional<Random> random_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<SearchEvent> path_;
  std::uint64_t ends_ = 0;
  std::uint64_t runs_ = 0;
  std::string violation_;
};

struct Extent {
  std::uint64_t rounds = 0;  // 0: one, in a fixed order
  std::uint64_t states = 0;  // of each round, at most
};

// What it finds, or nothing.
std::string search(const SearchBounds& bounds, const Extent& extent) {
  std::uint64_t states = 0;
  std::uint64_t ends = 0;
  std::uint64_t runs = 0;
  const std::uint64_t first = number_of("EDL_SEED", 1);
  std::string found;
  std::uint64_t round = 0;
  for (; round < std::max<std::uint64_t>(extent.rounds, 1) && found.empty(); ++round) {
    const bool is_whole = extent.rounds == 0;
    Search search(extent.states, is_whole ? std::nullopt : std::optional(first + round));
    search.run(bounds);
    states += search.states();
    ends += search.ends();
    runs += search.runs();
    if (!search.violation().empty()) found = search.violation();
    if (!found.empty() && !is_whole) found += text("seed ", first + round, "\n");
  }
  std::printf(
      "deaths %d, suspicions %d, ticks %d, steps %d: %llu rounds, %llu states, %llu ends, "
      "%llu run to the end\n",
      bounds.deaths, bounds.suspicions, bounds.ticks, bounds.steps,
      static_cast<unsigned long long>(round), static_cast<unsigned long long>(states),
      static_cast<unsigned long long>(ends), static_cast<unsigned long long>(runs));
  return found;
}

int bound_of(const char* name, int otherwise) {
  return static_cast<int>(number_of(name, static_cast<std::uint64_t>(otherwise)));
}

TEST(Search, every_order_of_events_with_one_death) {
  EXPECT_EQ(search({.deaths = 1, .steps = 1}, {.states = 3'000'000}), "");
}

// Too many orders to try all. Each round goes down another way and looks around there. Wider by
// environment, for searches that take hours; EDL_ROUNDS=0 tries all orders.
TEST(Search, orders_of_events_with_two_deaths_and_a_suspicion) {
  const SearchBounds bounds{.deaths = bound_of("EDL_DEATHS", 2),
                            .suspicions = bound_of("EDL_SUSPICIONS", 1),
                            .ticks = bound_of("EDL_TICKS", 2),
                            .steps = bound_of("EDL_STEPS", 3)};
  EXPECT_EQ(search(bounds, {.rounds = number_of("EDL_ROUNDS", 800),
                            .states = number_of("EDL_STATES", 400)}),
            "");
}

std::string search_without(Omission omission) {
  return search({.deaths = 1, .suspicions = 1, .steps = 2, .omission = omission},
                {.rounds = 500, .states = 400});
}

TEST(Search, notices_an_answer_without_promise) {
  EXPECT_NE(search_without(Omission::kAnswerWithoutPromise), "");
}
TEST(Search, notices_a_view_that_is_published_before_the_hand_over) {
  EXPECT_NE(search_without(Omission::kPublishBeforeHandOver), "");
}
TEST(Search, notices_output_before_a_step_is_stable) {
  EXPECT_NE(search_without(Omission::kOutputBeforeStable), "");
}

}  // namespace
}  // namespace edl::tests
