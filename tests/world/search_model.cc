#include "tests/world/search_model.h"

#include <algorithm>

#include "edl/base/random.h"
#include "edl/base/text.h"

namespace edl::tests {
namespace {

using membership::Action;

constexpr Duration kSilence = 1s;
constexpr std::uint64_t kBatch = 4;

std::string id_of(int i) { return std::string(1, static_cast<char>('a' + i)); }
int worker_of(const std::string& id) { return id[0] - 'a'; }
model::Position after(std::uint64_t step) {
  return {model::Epoch(), step * kBatch, model::Step(step)};
}

membership::Rules rules_of(const SearchBounds& bounds) {
  return {.logical_workers = 4,
          .min = 1,
          .max = kSearchWorkers,
          .batch = kBatch,
          .steps = 1 + static_cast<std::uint64_t>(bounds.steps)};
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  a ^= b + 0x9E3779B97F4A7C15 + (a << 6) + (a >> 2);
  a *= 0xBF58476D1CE4E5B9;
  return a ^ (a >> 29);
}

std::uint64_t hash_of(const std::string& text) { return std::hash<std::string>()(text); }

std::string history_text(const History& history) {
  std::string out;
  for (const std::uint64_t generation : history) out += text(generation, ",");
  return out;
}

}  // namespace

SearchState::SearchState(const SearchBounds& bounds) : bounds_(bounds) {
  for (int i = 0; i < kSearchWorkers; ++i) {
    workers_[static_cast<std::size_t>(i)] =
        std::make_shared<Worker>(membership::Core(id_of(i), rules_of(bounds)));
  }
}

SearchState SearchState::begin(const SearchBounds& bounds) {
  SearchState state(bounds);
  state.add_fact({.kind = Fact::Kind::kWanted});
  for (int i = 0; i < kSearchWorkers; ++i) {
    state.add_fact({.kind = Fact::Kind::kRegistered, .worker = i});
  }
  for (int i = 0; i < kSearchWorkers; ++i) {
    for (int j = 0; j < kSearchWorkers; ++j) {
      if (i != j) state.tell(i, [&](membership::Core& core) { core.on_link(id_of(j), true); });
    }
    while (state.at(i).facts < state.facts_.size()) state.tell_fact(i);
    state.tell(i, [](membership::Core& core) { core.on_current(); });
  }
  for (int turn = 0; turn < 1000; ++turn) {
    const std::vector<SearchEvent> events = state.events();
    const auto next = std::find_if(events.begin(), events.end(), [](const SearchEvent& event) {
      return event.kind < SearchEventKind::kTick;
    });
    if (next != events.end()) {
      state.apply(*next);
      continue;
    }
    const bool all_trained = std::all_of(
        state.workers_.begin(), state.workers_.end(),
        [](const auto& worker) { return worker->training && worker->history.size() == 1; });
    if (all_trained) break;
    for (int i = 0; i < kSearchWorkers; ++i) state.apply({SearchEventKind::kTick, i, 0});
  }
  EDL_CHECK(state.violation_.empty(), state.violation_);
  EDL_CHECK(state.views_.size() == 1 && state.stable_.size() == 1, state.text_of());
  state.step_max_ = 1 + static_cast<std::uint64_t>(bounds.steps);
  state.bounds_ = bounds;
  return state;
}

SearchState::Worker& SearchState::own(int i) {
  auto& worker = workers_[static_cast<std::size_t>(i)];
  if (worker.use_count() > 1) worker = std::make_shared<Worker>(*worker);
  return *worker;
}

void SearchState::tell(int i, const std::function<void(membership::Core&)>& what) {
  Worker& worker = own(i);
  worker.core.set_time(worker.now, kSilence);
  what(worker.core);
  for (const Action& action : worker.core.take_actions()) perform(i, action);
}

void SearchState::violate(const std::string& what) {
  if (violation_.empty()) violation_ = what;
}

bool SearchState::is_over() const {
  if (finished_ || !view_) return finished_;
  return std::all_of(view_->members.begin(), view_->members.end(),
                     [&](const model::Member& member) { return !at(worker_of(member.id)).alive; });
}

// A fact that changes nothing, whenever it comes.
bool SearchState::is_old_news(int i) const {
  const Worker& worker = at(i);
  if (worker.facts == facts_.size()) return false;
  const Fact& fact = *facts_[worker.facts];
  if (fact.kind == Fact::Kind::kLeader) return fact.ballot <= worker.core.ballot();
  if (fact.kind == Fact::Kind::kComplaint) return fact.ballot < worker.core.ballot();
  if (fact.kind != Fact::Kind::kView || !worker.core.view()) return false;
  return fact.view->generation < worker.core.view()->generation;
}

void SearchState::rehash(int i) {
  Worker& worker = own(i);
  while (is_old_news(i)) ++worker.facts;
  std::string all =
      text(worker.core.state_text(), " | ", worker.alive, worker.reported, " f", worker.facts, " h",
           history_text(worker.history), " r", worker.taking, "/", worker.taking_from);
  if (worker.training) all += text(" t", worker.training->generation);
  if (worker.applying) all += text(" a", worker.applying->step, ".", worker.applying->generation);
  for (const Action& action : worker.asks) all += membership::action_text(action);
  if (!worker.asks.empty()) all += text(" publishes ", worker.publishing);
  if (worker.answer) all += text(" answer", worker.answer->first, worker.answer->second);
  if (worker.getting) all += text(" gets", list_text(worker.getting->from), worker.getting->at);
  if (worker.giver) all += text(" giver", *worker.giver);
  worker.hash = hash_of(all);
}

std::uint64_t SearchState::hash() const {
  std::uint64_t out = facts_hash_;
  for (int i = 0; i < kSearchWorkers; ++i) {
    out = mix(out, at(i).hash);
    for (int j = 0; j < kSearchWorkers; ++j) {
      const auto a = static_cast<std::size_t>(i);
      const auto b = static_cast<std::size_t>(j);
      out = mix(out, static_cast<std::uint64_t>(links_[a][b]) * 2 + (silent_[a][b] ? 1 : 0));
      for (const Parcel& parcel : under_way_[a][b]) out = mix(out, parcel.hash);
    }
  }
  for (const auto& [generation, shares] : shares_) {
    out = mix(out, generation);
    for (const std::uint64_t step : shares) out = mix(out, step);
  }
  for (const std::uint64_t generation : stable_) out = mix(out, generation);
  out = mix(out, static_cast<std::uint64_t>((bounds_.deaths * 16 + bounds_.suspicions) * 16 +
                                            bounds_.ticks));
  return mix(out, finished_ ? 1 : 0);
}

std::string SearchState::text_of() const {
  std::string out = text("stable ", history_text(stable_), "\n");
  for (int i = 0; i < kSearchWorkers; ++i) {
    const Worker& worker = at(i);
    out += text("  ", worker.alive ? "" : "dead ", worker.core.state_text(), " history ",
                history_text(worker.history), worker.training ? " trains" : "", " facts ",
                worker.facts, " of ", facts_.size(), " ", worker.core.waits_for(), "\n");
    for (int j = 0; j < kSearchWorkers; ++j) {
      for (const Parcel& parcel :
           under_way_[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]) {
        out +=
            text("    to ", id_of(j), ": ",
                 parcel.message ? json_line(*parcel.message) : text("record ", parcel.step), "\n");
      }
    }
  }
  return out;
}

void SearchState::perform(int i, const Action& action) {
  Worker& worker = own(i);
  if (!worker.alive) return;
  if (const auto* out = std::get_if<membership::Send>(&action)) return send(i, *out);
  if (const auto* view = std::get_if<membership::EnterView>(&action)) return enter(i, view->view);
  if (std::holds_alternative<membership::LeaveCollective>(action)) {
    if (bounds_.omission != Omission::kAnswerWithoutPromise) worker.training.reset();
  } else if (const auto* get = std::get_if<membership::GetState>(&action)) {
    worker.getting = *get;
    worker.giver.reset();
  } else if (std::holds_alternative<membership::DropState>(action)) {
    worker.training.reset();
    worker.getting.reset();
    worker.giver.reset();
    worker.taking = 0;
    worker.history.clear();
  } else if (const auto* take = std::get_if<membership::TakeRecord>(&action)) {
    const std::uint64_t step = take->step.value();
    worker.taking = step;
    worker.taking_from = worker_of(take->from);
    send(i, worker_of(take->from), {.step = step, .hash = hash_of(text("want ", step))});
  } else if (std::holds_alternative<membership::DropRecord>(action)) {
    worker.taking = 0;
  } else if (const auto* complain = std::get_if<membership::Complain>(&action)) {
    add_fact({.kind = Fact::Kind::kComplaint, .worker = i, .ballot = complain->ballot});
  } else if (const auto* halt = std::get_if<membership::Halt>(&action)) {
    stable(halt->step.value(), worker.history);
    if (halt->leads && halt->kind == membership::HaltKind::kFinished) finished_ = true;
  } else if (const auto* exit = std::get_if<membership::Exit>(&action)) {
    violate(text(id_of(i), " gives up: ", exit->reason));
  } else if (!std::holds_alternative<membership::Promised>(action)) {
    ask(i, action);
  }
}

// Said again while it is still on its way to the store, it is one.
void SearchState::ask(int i, const Action& action) {
  Worker& worker = own(i);
  const std::string same = membership::action_text(action);
  const bool is_asked =
      std::any_of(worker.asks.begin(), worker.asks.end(),
                  [&](const Action& asked) { return membership::action_text(asked) == same; });
  if (!is_asked) worker.asks.push_back(action);
  if (const auto* view = std::get_if<membership::Publish>(&action)) {
    worker.publishing = view->view.generation;
    worker.answer.reset();
  }
}

// What is said again while it is still under way changes nothing.
void SearchState::send(int i, int to, Parcel parcel) {
  const auto a = static_cast<std::size_t>(i);
  const auto b = static_cast<std::size_t>(to);
  if (links_[a][b] != Link::kUp || links_[b][a] == Link::kDown || !at(to).alive) return;
  auto& queue = under_way_[a][b];
  const bool is_there = std::any_of(queue.begin(), queue.end(),
                                    [&](const Parcel& other) { return other.hash == parcel.hash; });
  if (!is_there) queue.push_back(std::move(parcel));
}

void SearchState::send(int i, const membership::Send& out) {
  membership::Message message = out.message;
  int from = i;
  int to = worker_of(out.to);
  if (bounds_.omission == Omission::kPublishBeforeHandOver &&
      message.kind == membership::Kind::kHandOver) {
    // The leader is told at once that the record has arrived.
    message.kind = membership::Kind::kPromise;
    message.here = after(message.step.value());
    message.who.clear();
    message.ids.clear();
    std::swap(from, to);
  }
  const std::string line = json_line(message);
  send(from, to,
       {.message = std::make_shared<membership::Message>(message), .hash = hash_of(line)});
}

void SearchState::add_fact(Fact fact) {
  const std::string line = text(static_cast<int>(fact.kind), " ", fact.worker, " ", fact.ballot,
                                " ", fact.revision, fact.view ? json_line(*fact.view) : "");
  facts_hash_ = mix(facts_hash_, hash_of(line));
  facts_.push_back(std::make_shared<const Fact>(std::move(fact)));
}

void SearchState::enter(int i, const model::View& view) {
  Worker& worker = own(i);
  const std::uint64_t generation = view.generation.value();
  const auto published = views_.find(generation);
  if (published == views_.end()) return violate(text(id_of(i), " enters a view nobody published"));
  if (published->second != view) violate(text("two views of generation ", generation));
  if (worker.training && worker.training->generation >= view.generation) {
    violate(text(id_of(i), " goes back from generation ", worker.training->generation, " to ",
                 generation));
  }
  const auto [known, is_first] = begins_.emplace(generation, worker.history);
  if (!is_first && known->second != worker.history) {
    violate(text("view ", generation, " begins with ", history_text(known->second), " and at ",
                 id_of(i), " with ", history_text(worker.history)));
  }
  if (worker.history.size() + 1 != view.first_step.value()) {
    violate(text(id_of(i), " enters a view that begins at another step"));
  }
  worker.training.reset();
  worker.getting.reset();
  worker.giver.reset();
  stable(view.first_step.value() - 1, worker.history);
  if (!view.halt.empty()) return;
  worker.training = view;
  share(i);
}

void SearchState::publish(int i, const membership::Publish& publish) {
  const bool happens = publish.ballot == leader_ && publish.after == view_revision_;
  if (happens) {
    check_published(publish.view);
    view_ = publish.view;
    view_revision_ = model::Revision(++revision_);
    views_.emplace(publish.view.generation.value(), publish.view);
    add_fact({.kind = Fact::Kind::kView, .view = view_, .revision = view_revision_});
  }
  if (at(i).alive && at(i).publishing == publish.view.generation)
    own(i).answer = {happens, view_revision_};
}

void SearchState::check_published(const model::View& view) {
  const std::uint64_t generation = view.generation.value();
  if (!views_.empty() && views_.rbegin()->first >= generation) {
    violate(text("generation ", generation, " is published after ", views_.rbegin()->first));
  }
  const std::uint64_t before = view.first_step.value() - 1;
  if (before < stable_.size()) {
    violate(text("view ", generation, " begins at step ", before + 1, ", but ", stable_.size(),
                 " was stable"));
  }
  for (const model::Member& member : view.members) {
    const Worker& worker = at(worker_of(member.id));
    if (worker.alive && worker.history.size() != before) {
      violate(text("view ", generation, " begins at step ", before + 1, ", but ", member.id,
                   " has ", worker.history.size()));
    }
  }
}

// Each member sends its share of the next step when it has applied the one before.
void SearchState::share(int i) {
  const Worker& worker = at(i);
  const model::View& view = *worker.training;
  shares_[view.generation.value()][static_cast<std::size_t>(i)] = worker.history.size() + 1;
  stable(stable_in(view), worker.history);
}

// What all members of the view have completed, as any of them can know.
std::uint64_t SearchState::stable_in(const model::View& view) const {
  std::uint64_t least = ~std::uint64_t{0};
  const auto shares = shares_.find(view.generation.value());
  for (const model::Member& member : view.members) {
    const auto rank = static_cast<std::size_t>(worker_of(member.id));
    least = std::min(least, shares == shares_.end() ? 0 : shares->second[rank]);
  }
  return std::max(least, view.first_step.value()) - 1;
}

void SearchState::stable(std::uint64_t step, const History& history) {
  if (history.size() < step) return violate(text("step ", step, " is stable and nobody has it"));
  for (std::size_t k = 0; k < std::min<std::size_t>(step, stable_.size()); ++k) {
    if (stable_[k] == history[k]) continue;
    violate(text("step ", k + 1, " was stable in generation ", stable_[k],
                 " and is computed again in ", history[k]));
  }
  for (std::size_t k = stable_.size(); k < step; ++k) stable_.push_back(history[k]);
}

bool SearchState::runs_to_the_end(std::uint64_t seed) const {
  SearchState state = *this;
  Random random(seed);
  for (int turn = 0; turn < 4000 && state.violation_.empty(); ++turn) {
    if (state.is_over()) return true;
    std::vector<SearchEvent> events = state.events();
    std::erase_if(events,
                  [](const SearchEvent& event) { return event.kind >= SearchEventKind::kTick; });
    if (!events.empty()) {
      const auto last = static_cast<std::int64_t>(events.size()) - 1;
      state.apply(events[static_cast<std::size_t>(random.between(0, last))]);
      continue;
    }
    state.bounds_.ticks = kSearchWorkers;
    for (int i = 0; i < kSearchWorkers; ++i) {
      if (state.at(i).alive) state.apply({SearchEventKind::kTick, i, 0});
    }
  }
  return false;
}

}  // namespace edl::tests
