// A job of three workers as one value: their real cores, and around them a store, links and steps
// that are as simple as can be. Copies are independent and cheap, so a search can try every order
// of events. What must always hold is checked in every event.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "edl/membership/core.h"

namespace edl::tests {

inline constexpr int kSearchWorkers = 3;

// Rules of the protocol that can be left out, to see that the search notices.
enum class Omission { kNone, kAnswerWithoutPromise, kPublishBeforeHandOver, kOutputBeforeStable };

struct SearchBounds {
  int deaths = 0;
  int suspicions = 0;  // of a link between two that live
  int ticks = 0;       // how often a worker may find its waits over while others are still slow
  int steps = 2;       // to train after the first
  Omission omission = Omission::kNone;
};

enum class SearchEventKind : std::uint8_t {
  kDeliver,    // from a, to b: the oldest message of the link
  kFact,       // a is told of the next change in the store
  kStore,      // the store does what a asked for first
  kAnswer,     // a is told whether its view was published
  kStart,      // a has all reduced numbers of the next step
  kFinish,     // a has applied them
  kGetState,   // a, which joins, gets a state
  kFollow,     // a, which joins, applies the next stable record
  kNoState,    // a, which joins, has lost its giver
  kLinkDown,   // a notices that its link with b is broken
  kReconnect,  // a and b connect anew
  kLinkUp,     // a notices that
  kSpeak,      // a hears b again
  kReport,     // the agent says in the store that a has ended
  kTick,       // all of a's waits are over
  kDie,        // from here on: faults
  kSilent,     // a takes b for silent, though it lives
  kBreak,      // a's connection with b breaks, though both live
};
struct SearchEvent {
  SearchEventKind kind = SearchEventKind::kTick;
  int a = 0;
  int b = 0;
};
std::string event_text(const SearchEvent& event);

// Which generation computed each step from the first on: equal histories are equal states.
using History = std::vector<std::uint64_t>;

class SearchState {
 public:
  // Three members of the first view, with the first step behind them and nothing under way.
  static SearchState begin(const SearchBounds& bounds);

  // All that can happen now, faults included.
  std::vector<SearchEvent> events() const;
  void apply(const SearchEvent& event);
  // Goes on without faults, in some fair order; whether the job gets to its end.
  bool runs_to_the_end(std::uint64_t seed) const;

  std::uint64_t hash() const;
  const std::string& violation() const { return violation_; }
  // The job has ended, or no member of its view is left to go on.
  bool is_over() const;
  std::string text_of() const;

 private:
  enum class Link : std::uint8_t { kUp, kDown, kComing };
  struct Parcel {  // a message; or a record that is wanted or given
    std::shared_ptr<const membership::Message> message{};
    bool is_record = false;
    std::uint64_t step = 0;
    std::uint64_t generation = 0;  // that computed it
    std::uint64_t hash = 0;
  };
  struct Fact {
    enum class Kind { kWanted, kRegistered, kExited, kLeader, kView, kComplaint };
    Kind kind = Kind::kWanted;
    int worker = 0;
    model::Ballot ballot{};
    std::optional<model::View> view{};
    model::Revision revision{};
  };
  struct Applying {
    std::uint64_t step = 0;
    std::uint64_t generation = 0;
  };
  struct Worker {
    explicit Worker(membership::Core made) : core(std::move(made)) {}
    membership::Core core;
    bool alive = true;
    bool reported = false;  // its end, in the store
    Time now{};
    std::optional<model::View> training{};
    std::optional<Applying> applying{};
    std::uint64_t taking = 0;  // the record of this step
    int taking_from = 0;
    History history{};
    std::size_t facts = 0;  // that it was told
    std::deque<membership::Action> asks{};
    model::Generation publishing{};  // an answer about another view is not listened to
    std::optional<std::pair<bool, model::Revision>> answer{};
    std::optional<membership::GetState> getting{};
    std::optional<int> giver{};  // of the records that it follows
    std::uint64_t hash = 0;
  };
  using Shares = std::array<std::uint64_t, kSearchWorkers>;  // the last step that each has sent

  explicit SearchState(const SearchBounds& bounds);
  Worker& own(int i);
  const Worker& at(int i) const { return *workers_[static_cast<std::size_t>(i)]; }
  void tell(int i, const std::function<void(membership::Core&)>& what);
  void rehash(int i);
  bool is_old_news(int i) const;
  void violate(const std::string& what);

  // Events (search_events.cc).
  void add_events_of(int i, std::vector<SearchEvent>& out) const;
  void add_events_between(int i, int j, std::vector<SearchEvent>& out) const;
  void add_faults(std::vector<SearchEvent>& out) const;
  bool can_start(int i) const;
  std::optional<std::uint64_t> next_state(int i) const;
  bool has_giver(int i) const;
  void deliver(int from, int to);
  void tell_fact(int i);
  void ask_store(int i);
  void tell_answer(int i);
  void finish(int i);
  void take_state(int i);
  void follow(int i);
  void break_link(int i, int j);
  void fault(const SearchEvent& event);
  void apply_link(const SearchEvent& event);

  // What the cores want done.
  void perform(int i, const membership::Action& action);
  void ask(int i, const membership::Action& action);
  void send(int i, int to, Parcel parcel);
  void send(int i, const membership::Send& send);
  void enter(int i, const model::View& view);
  void publish(int i, const membership::Publish& publish);
  void add_fact(Fact fact);

  // What must hold.
  void share(int i);
  void check_published(const model::View& view);
  void stable(std::uint64_t step, const History& history);
  std::uint64_t stable_in(const model::View& view) const;

  SearchBounds bounds_;
  std::uint64_t step_max_ = 1;  // nobody begins a later one
  std::array<std::shared_ptr<Worker>, kSearchWorkers> workers_;
  std::array<std::array<Link, kSearchWorkers>, kSearchWorkers> links_{};  // as the first knows it
  std::array<std::array<bool, kSearchWorkers>, kSearchWorkers> silent_{};
  std::array<std::array<std::vector<Parcel>, kSearchWorkers>, kSearchWorkers> under_way_;

  std::uint64_t revision_ = 0;
  model::Ballot leader_;
  int leader_worker_ = 0;
  std::optional<model::View> view_;
  model::Revision view_revision_;
  std::vector<std::shared_ptr<const Fact>> facts_;
  std::uint64_t facts_hash_ = 0;

  std::map<std::uint64_t, Shares> shares_;      // by generation
  std::map<std::uint64_t, model::View> views_;  // that were published
  std::map<std::uint64_t, History> begins_;     // with which each view's members begin
  History stable_;                              // of what somebody may have told the world
  bool finished_ = false;
  std::string violation_;
};

}  // namespace edl::tests
