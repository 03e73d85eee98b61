// What can happen in the model, and what it does.
#include <algorithm>

#include "edl/base/text.h"
#include "tests/world/search_model.h"

namespace edl::tests {
namespace {

using Kind = SearchEventKind;

constexpr Duration kTick = 60s;  // longer than any wait

std::string id_of(int i) { return std::string(1, static_cast<char>('a' + i)); }
int worker_of(const std::string& id) { return id[0] - 'a'; }
std::size_t place(int i) { return static_cast<std::size_t>(i); }

constexpr std::array<const char*, 18> kNames{
    "deliver",    "fact",   "store",    "answer",    "start",     "finish",
    "take_state", "follow", "no_state", "link_down", "reconnect", "link_up",
    "speak",      "report", "tick",     "die",       "silent",    "break"};

}  // namespace

std::string event_text(const SearchEvent& event) {
  return text(kNames[static_cast<std::size_t>(event.kind)], " ", id_of(event.a), " ",
              id_of(event.b));
}

std::vector<SearchEvent> SearchState::events() const {
  std::vector<SearchEvent> out;
  if (is_over()) return out;
  for (int i = 0; i < kSearchWorkers; ++i) {
    add_events_of(i, out);
    for (int j = 0; j < kSearchWorkers; ++j) {
      if (i != j) add_events_between(i, j, out);
    }
  }
  add_faults(out);
  return out;
}

void SearchState::add_events_of(int i, std::vector<SearchEvent>& out) const {
  const Worker& worker = at(i);
  if (!worker.asks.empty()) out.push_back({Kind::kStore, i, 0});
  if (!worker.alive) {
    if (!worker.reported) out.push_back({Kind::kReport, i, 0});
    return;
  }
  if (worker.facts < facts_.size()) out.push_back({Kind::kFact, i, 0});
  if (worker.answer) out.push_back({Kind::kAnswer, i, 0});
  if (can_start(i)) out.push_back({Kind::kStart, i, 0});
  if (worker.applying) out.push_back({Kind::kFinish, i, 0});
  if (worker.getting && next_state(i)) out.push_back({Kind::kGetState, i, 0});
  if (worker.giver && !worker.applying && next_state(i)) out.push_back({Kind::kFollow, i, 0});
  const bool is_joining = worker.giver || (worker.getting && !worker.getting->from.empty());
  if (is_joining && !has_giver(i)) out.push_back({Kind::kNoState, i, 0});
  if (bounds_.ticks > 0) out.push_back({Kind::kTick, i, 0});
}

void SearchState::add_events_between(int i, int j, std::vector<SearchEvent>& out) const {
  const Link here = links_[place(i)][place(j)];
  const Link there = links_[place(j)][place(i)];
  if (!at(i).alive) return;
  if (here == Link::kUp && !under_way_[place(j)][place(i)].empty()) {
    out.push_back({Kind::kDeliver, j, i});
  }
  if (here != Link::kDown && (!at(j).alive || there == Link::kDown)) {
    out.push_back({Kind::kLinkDown, i, j});
  } else if (here == Link::kComing) {
    out.push_back({Kind::kLinkUp, i, j});
  }
  if (here == Link::kDown && there == Link::kDown && i < j && at(j).alive) {
    out.push_back({Kind::kReconnect, i, j});
  }
  if (silent_[place(i)][place(j)] && at(j).alive) out.push_back({Kind::kSpeak, i, j});
}

void SearchState::add_faults(std::vector<SearchEvent>& out) const {
  for (int i = 0; i < kSearchWorkers; ++i) {
    if (!at(i).alive) continue;
    if (bounds_.deaths > 0) out.push_back({Kind::kDie, i, 0});
    if (bounds_.suspicions == 0) continue;
    for (int j = 0; j < kSearchWorkers; ++j) {
      const bool is_up = i != j && at(j).alive && links_[place(i)][place(j)] == Link::kUp &&
                         links_[place(j)][place(i)] == Link::kUp;
      if (!is_up) continue;
      out.push_back({Kind::kSilent, i, j});
      out.push_back({Kind::kBreak, i, j});
    }
  }
}

// The shares of all members of its view are there.
bool SearchState::can_start(int i) const {
  const Worker& worker = at(i);
  if (!worker.training || worker.applying) return false;
  const std::uint64_t next = worker.history.size() + 1;
  if (next > step_max_) return false;
  const Shares& shares = shares_.at(worker.training->generation.value());
  return std::all_of(
      worker.training->members.begin(), worker.training->members.end(),
      [&](const model::Member& member) { return shares[place(worker_of(member.id))] >= next; });
}

bool SearchState::has_giver(int i) const {
  const auto gives = [&](int k) {
    return at(k).alive && at(k).core.is_member() && links_[place(i)][place(k)] == Link::kUp &&
           links_[place(k)][place(i)] == Link::kUp;
  };
  if (at(i).giver) return gives(*at(i).giver);
  const auto& from = at(i).getting->from;
  return std::any_of(from.begin(), from.end(),
                     [&](const std::string& id) { return gives(worker_of(id)); });
}

// The stable step up to which the giver can bring this worker now; nothing when it brings nothing.
std::optional<std::uint64_t> SearchState::next_state(int i) const {
  const Worker& worker = at(i);
  if (worker.getting && worker.getting->from.empty()) return 0;
  if (!has_giver(i)) return std::nullopt;
  int giver = worker.giver.value_or(-1);
  if (giver < 0) {
    for (const std::string& id : worker.getting->from) {
      if (giver < 0 && at(worker_of(id)).training) giver = worker_of(id);
    }
  }
  if (giver < 0 || !at(giver).training) return std::nullopt;
  const std::uint64_t step =
      std::min<std::uint64_t>(stable_in(*at(giver).training), at(giver).history.size());
  if (worker.giver && step <= worker.history.size()) return std::nullopt;
  return step;
}

void SearchState::apply(const SearchEvent& event) {
  const int i = event.a;
  switch (event.kind) {
    case Kind::kDeliver:
      deliver(event.a, event.b);
      break;
    case Kind::kFact:
      tell_fact(i);
      break;
    case Kind::kStore:
      ask_store(i);
      break;
    case Kind::kAnswer:
      tell_answer(i);
      break;
    case Kind::kStart:
      own(i).applying = Applying{at(i).history.size() + 1, at(i).training->generation.value()};
      own(i).core.on_applying();
      break;
    case Kind::kFinish:
      finish(i);
      break;
    case Kind::kGetState:
      take_state(i);
      break;
    case Kind::kFollow:
      follow(i);
      break;
    case Kind::kNoState:
      own(i).getting.reset();
      own(i).giver.reset();
      tell(i, [](membership::Core& core) { core.on_no_state("the giver is lost"); });
      break;
    case Kind::kTick:
      --bounds_.ticks;
      own(i).now += kTick;
      tell(i, [](membership::Core& core) { core.look(); });
      break;
    case Kind::kReport:
      own(i).reported = true;
      add_fact({.kind = Fact::Kind::kExited, .worker = i});
      break;
    default:
      apply_link(event);
  }
  for (int k = 0; k < kSearchWorkers; ++k) {
    if (workers_[place(k)].use_count() == 1) rehash(k);
  }
}

void SearchState::apply_link(const SearchEvent& event) {
  const int i = event.a;
  const int j = event.b;
  switch (event.kind) {
    case Kind::kLinkDown:
      return break_link(i, j);
    case Kind::kReconnect:
      links_[place(i)][place(j)] = links_[place(j)][place(i)] = Link::kComing;
      return;
    case Kind::kLinkUp:
      links_[place(i)][place(j)] = Link::kUp;
      return tell(i, [&](membership::Core& core) { core.on_link(id_of(j), true); });
    case Kind::kSpeak:
      silent_[place(i)][place(j)] = false;
      return tell(i, [&](membership::Core& core) { core.on_link(id_of(j), true); });
    default:
      return fault(event);
  }
}

void SearchState::fault(const SearchEvent& event) {
  const int i = event.a;
  const int j = event.b;
  if (event.kind == Kind::kDie) {
    --bounds_.deaths;
    Worker& worker = own(i);
    worker.alive = false;
    worker.training.reset();
    worker.applying.reset();
    worker.answer.reset();
    for (auto& queue : under_way_) queue[place(i)].clear();
    return;
  }
  --bounds_.suspicions;
  if (event.kind == Kind::kBreak) return break_link(i, j);
  silent_[place(i)][place(j)] = true;
  tell(i, [&](membership::Core& core) { core.on_silent(id_of(j)); });
}

// What was under way is lost.
void SearchState::break_link(int i, int j) {
  const bool was_up = links_[place(i)][place(j)] == Link::kUp;
  links_[place(i)][place(j)] = Link::kDown;
  silent_[place(i)][place(j)] = false;
  under_way_[place(i)][place(j)].clear();
  under_way_[place(j)][place(i)].clear();
  if (was_up) tell(i, [&](membership::Core& core) { core.on_link(id_of(j), false); });
}

void SearchState::deliver(int from, int to) {
  auto& queue = under_way_[place(from)][place(to)];
  const Parcel parcel = queue.front();
  queue.erase(queue.begin());
  if (parcel.message) {
    tell(to, [&](membership::Core& core) { core.on_message(id_of(from), *parcel.message); });
    return;
  }
  Worker& worker = own(to);
  if (!parcel.is_record) {
    if (worker.history.size() != parcel.step) return;
    const std::uint64_t generation = worker.history.back();
    const auto hash = std::hash<std::string>()(text("record ", parcel.step, ".", generation));
    return send(to, from,
                {.is_record = true, .step = parcel.step, .generation = generation, .hash = hash});
  }
  const bool is_next = worker.history.size() + 1 == parcel.step;
  const bool is_wanted = worker.taking == parcel.step && worker.taking_from == from;
  if (!is_next || !is_wanted || worker.training || worker.applying || !worker.core.has_state())
    return;
  worker.applying = Applying{parcel.step, parcel.generation};
  worker.core.on_applying();
}

void SearchState::tell_fact(int i) {
  const std::shared_ptr<const Fact> fact = facts_[own(i).facts++];
  const std::string id = id_of(fact->worker);
  if (fact->kind == Fact::Kind::kExited && links_[place(i)][place(fact->worker)] == Link::kUp &&
      i != fact->worker) {
    break_link(i, fact->worker);
  }
  tell(i, [&](membership::Core& core) {
    switch (fact->kind) {
      case Fact::Kind::kWanted:
        return core.on_wanted({.workers = kSearchWorkers, .by = "search"});
      case Fact::Kind::kRegistered:
        return core.on_registered(id, {.address = id, .host = "host"});
      case Fact::Kind::kExited:
        return core.on_registered(id, {.exited = true});
      case Fact::Kind::kLeader:
        return core.on_leader(fact->ballot, id);
      case Fact::Kind::kView:
        return core.on_view(*fact->view, fact->revision);
      case Fact::Kind::kComplaint:
        return core.on_complaint(fact->ballot, id);
    }
  });
}

// A worker that has died may have asked before.
void SearchState::ask_store(int i) {
  Worker& worker = own(i);
  const membership::Action ask = worker.asks.front();
  worker.asks.pop_front();
  if (const auto* const wants = std::get_if<membership::Publish>(&ask)) return publish(i, *wants);
  if (const auto* const take = std::get_if<membership::TakeLead>(&ask)) {
    if (take->after == leader_) {
      leader_ = model::Ballot(++revision_);
      leader_worker_ = worker_of(take->who);
      add_fact({.kind = Fact::Kind::kLeader, .worker = leader_worker_, .ballot = leader_});
    }
    if (!worker.alive) return;
    return tell(i, [&](membership::Core& core) { core.on_leader(leader_, id_of(leader_worker_)); });
  }
  if (!worker.alive) return;
  if (const auto* const read = std::get_if<membership::ReadView>(&ask)) {
    return tell(
        i, [&](membership::Core& core) { core.on_elected(read->ballot, view_, view_revision_); });
  }
  const auto* const announce = std::get_if<membership::Announce>(&ask);
  EDL_CHECK(announce != nullptr, membership::action_text(ask));
  tell(i, [&](membership::Core& core) { core.on_announced(announce->ballot == leader_); });
}

void SearchState::tell_answer(int i) {
  const auto answer = *std::exchange(own(i).answer, std::nullopt);
  tell(i, [&](membership::Core& core) { core.on_published(answer.first, answer.second); });
}

void SearchState::finish(int i) {
  Worker& worker = own(i);
  const Applying applied = *std::exchange(worker.applying, std::nullopt);
  if (worker.history.size() + 1 == applied.step) worker.history.push_back(applied.generation);
  if (bounds_.omission == Omission::kOutputBeforeStable) stable(applied.step, worker.history);
  const model::Position here{model::Epoch(), applied.step * 4, model::Step(applied.step)};
  tell(i, [&](membership::Core& core) { core.on_completed(here); });
  if (at(i).training && at(i).history.size() == applied.step) share(i);
}

void SearchState::take_state(int i) {
  const std::uint64_t step = *next_state(i);
  Worker& worker = own(i);
  const membership::GetState get = *std::exchange(worker.getting, std::nullopt);
  worker.history.clear();
  for (const std::string& id : get.from) {
    if (worker.giver || !at(worker_of(id)).training) continue;
    worker.giver = worker_of(id);
    const History& all = at(*worker.giver).history;
    worker.history.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(step));
  }
  const model::Position here{model::Epoch(), step * 4, model::Step(step)};
  tell(i, [&](membership::Core& core) { core.on_state(here); });
}

void SearchState::follow(int i) {
  Worker& worker = own(i);
  const std::uint64_t step = worker.history.size() + 1;
  worker.history.push_back(at(*worker.giver).history[step - 1]);
  const model::Position here{model::Epoch(), step * 4, model::Step(step)};
  tell(i, [&](membership::Core& core) { core.on_state(here); });
}

}  // namespace edl::tests
