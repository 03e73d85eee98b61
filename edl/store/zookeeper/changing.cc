#include "edl/store/zookeeper/changing.h"

#include "edl/base/text.h"

namespace edl::store::zookeeper {
namespace {

// A server drops the connection of who sends it more than jute.maxbuffer, which is 1 MiB.
constexpr std::size_t kChangeBytesMax = 1'000'000;
constexpr std::size_t kStepBytes = 128;  // of the request, beside path and data; generous

bool is_there(const Answer& node) { return node.rc == ZOK; }
bool is_key(const Answer& node) { return is_there(node) && !is_marker(node.data); }

// There is no step that checks for absence. Making it fails if it is there; nobody sees it.
void expect_absent(const std::string& path, std::vector<Step>& steps) {
  steps.push_back({.kind = Step::Kind::kCreate, .path = path, .data = marker_value});
  steps.push_back({.kind = Step::Kind::kDelete, .path = path, .version = 0});
}

}  // namespace

Result<void> check_change(const Change& change) {
  std::set<std::string> changed;
  std::size_t bytes = 0;
  for (const Change::Condition& condition : change.conditions) EDL_TRY(check_key(condition.key));
  for (const Change::Put& put : change.puts) {
    EDL_TRY(check_key(put.key));
    bytes += 2 * put.key.size() + put.value.size() + kStepBytes;
    if (!changed.insert(put.key).second) {
      return Error{Code::kInvalid, text(put.key, " is put twice in one change")};
    }
  }
  for (const std::string& key : change.deletes) {
    EDL_TRY(check_key(key));
    if (!changed.insert(key).second) {
      return Error{Code::kInvalid, text(key, " is changed twice in one change")};
    }
  }
  if (bytes <= kChangeBytesMax) return {};
  return Error{Code::kInvalid, text("a change of ", bytes, " bytes is too large for ZooKeeper: at ",
                                    "most ", kChangeBytesMax, " fit. Keep large values elsewhere, ",
                                    "or change fewer keys at once.")};
}

std::set<std::string> Changing::keys() const {
  std::set<std::string> keys(change_.deletes.begin(), change_.deletes.end());
  for (const Change::Condition& condition : change_.conditions) keys.insert(condition.key);
  for (const Change::Put& put : change_.puts) keys.insert(put.key);
  return keys;
}

void Changing::attempt() {
  if (lease_is_over()) return finish(Error{Code::kNotFound, "the lease is over"});
  calls_.clear();
  nodes_.clear();
  const auto all = keys();
  reads_left_ = all.size() + 1;
  calls_.push_back(session().sync([this](const Answer& answer) { on_read("/", answer); }));
  for (const std::string& key : all) {
    calls_.push_back(session().get(key, Session::Watch::kNo,
                                   [this, key](const Answer& answer) { on_read(key, answer); }));
  }
}

bool Changing::accept(const Answer& answer, const std::string& path) {
  if (answer.rc == ZOK || answer.rc == ZNONODE || answer.rc == ZNODEEXISTS) return true;
  calls_.clear();
  is_fine(answer, path);  // tells or tries again; may destroy us
  return false;
}

void Changing::on_read(const std::string& path, const Answer& answer) {
  if (!accept(answer, path)) return;
  nodes_[path] = answer;
  if (--reads_left_ == 0) decide();
}

void Changing::decide() {
  if (!conditions_hold()) return finish(Changed{.happened = false});
  auto steps = plan();
  if (!steps.ok()) return finish(steps.error());
  if (steps->empty()) return finish(Changed{.happened = true});
  late_ = Code::kTimeout;
  calls_.push_back(session().multi(std::move(steps).value(),
                                   [this](const Answer& answer) { on_multi(answer); }));
}

bool Changing::conditions_hold() const {
  for (const Change::Condition& condition : change_.conditions) {
    const Answer& node = nodes_.at(condition.key);
    if ((is_key(node) ? node.stat.mzxid : 0) != condition.mod_revision) return false;
  }
  return true;
}

Result<std::vector<Step>> Changing::plan() const {
  std::vector<Step> steps;
  plan_guards(steps);
  // A node is made before those below it, and deleted after them.
  std::map<std::string, const Change::Put*> puts;
  for (const Change::Put& put : change_.puts) puts[put.key] = &put;
  for (const auto& [key, put] : puts) EDL_TRY(plan_put(*put, steps));
  const std::set<std::string, std::greater<>> deletes(change_.deletes.begin(),
                                                      change_.deletes.end());
  for (const std::string& key : deletes) plan_delete(key, steps);
  return steps;
}

// Conditions on what is changed itself are in the versions of these steps.
void Changing::plan_guards(std::vector<Step>& steps) const {
  std::set<std::string> guards;
  for (const Change::Condition& condition : change_.conditions) guards.insert(condition.key);
  for (const Change::Put& put : change_.puts) guards.erase(put.key);
  for (const std::string& key : guards) {
    const Answer& node = nodes_.at(key);
    if (!is_there(node)) {
      expect_absent(key, steps);
    } else if (!is_key(node) || std::ranges::count(change_.deletes, key) == 0) {
      steps.push_back({.kind = Step::Kind::kCheck, .path = key, .version = node.stat.version});
    }
  }
}

Result<void> Changing::plan_put(const Change::Put& put, std::vector<Step>& steps) const {
  const Answer& node = nodes_.at(put.key);
  int version = node.stat.version;
  // A node is on a lease or not for all its life.
  const bool stays = is_there(node) && node.stat.ephemeralOwner == put.lease;
  if (is_there(node) && !stays) {
    if (node.stat.numChildren > 0) {
      return Error{Code::kInvalid,
                   text("cannot put ", put.key, " on a lease: it has keys below it, which ",
                        "ZooKeeper allows only for keys without a lease")};
    }
    steps.push_back({.kind = Step::Kind::kDelete, .path = put.key, .version = version});
  }
  if (!stays) {
    steps.push_back({.kind = Step::Kind::kCreate,
                     .path = put.key,
                     .data = marker_value,
                     .ephemeral = put.lease != 0});
    version = 0;
  }
  steps.push_back(
      {.kind = Step::Kind::kSet, .path = put.key, .data = data_of(put.value), .version = version});
  return {};
}

void Changing::plan_delete(const std::string& key, std::vector<Step>& steps) const {
  const Answer& node = nodes_.at(key);
  if (!is_key(node)) return;
  const bool stays =
      node.stat.numChildren > 0 || std::ranges::any_of(change_.puts, [&](const Change::Put& put) {
        return put.key.starts_with(key + "/");
      });
  if (stays) {
    steps.push_back({.kind = Step::Kind::kSet,
                     .path = key,
                     .data = marker_value,
                     .version = node.stat.version});
  } else {
    steps.push_back({.kind = Step::Kind::kDelete, .path = key, .version = node.stat.version});
  }
}

void Changing::on_multi(const Answer& answer) {
  late_ = Code::kUnavailable;
  switch (answer.rc) {
    case ZOK:
      return finish(Changed{.happened = true, .revision = answer.stat.mzxid});
    case ZBADVERSION:
    case ZNODEEXISTS:
    case ZNOTEMPTY:
      return try_again_at_once();
    case ZNONODE:
      return make_parents();
    case ZNOCHILDRENFOREPHEMERALS:
      return finish(Error{Code::kInvalid,
                          "a key above this one is on a lease, and ZooKeeper allows no keys "
                          "below such a key"});
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSESSIONEXPIRED:
    case ZCLOSING:
      return finish(Error{Code::kTimeout,
                          "the connection to ZooKeeper was lost: whether the "
                          "change happened is not known"});
    default:
      is_fine(answer, "a change");
  }
}

void Changing::make_parents() {
  std::set<std::string> parents;
  for (const auto& [path, node] : nodes_) {
    if (is_there(node)) continue;
    for (std::string parent = parent_of(path); parent != "/"; parent = parent_of(parent)) {
      parents.insert(parent);
    }
  }
  if (parents.empty()) return try_again_at_once();
  parents_left_ = parents.size();
  for (const std::string& parent : parents) {
    calls_.push_back(session().create(
        parent, marker_value, [this, parent](const Answer& answer) { on_parent(parent, answer); }));
  }
}

void Changing::on_parent(const std::string& path, const Answer& answer) {
  if (answer.rc == ZNOCHILDRENFOREPHEMERALS) return on_multi(answer);
  if (!accept(answer, path)) return;
  if (--parents_left_ == 0) try_again_at_once();
}

}  // namespace edl::store::zookeeper
