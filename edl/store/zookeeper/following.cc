#include "edl/store/zookeeper/following.h"

#include "edl/store/zookeeper/znode.h"

namespace edl::store::zookeeper {
namespace {

constexpr Duration kPause = 100ms;  // after a loss; the library looks for another server meanwhile

}  // namespace

Following::Following(Ensemble& ensemble, std::string prefix, OnFact on_fact)
    : ensemble_(ensemble),
      prefix_(std::move(prefix)),
      root_(root_of(prefix_)),
      on_fact_(std::move(on_fact)) {
  ensemble_.add(*this);
  start_ = ensemble_.system().after(Duration::zero(), [this] {
    const auto valid = check_prefix(prefix_);
    over_ = !valid.ok();
    if (over_) {
      tell(valid.error());
    } else {
      read(root_);
    }
  });
}

Following::~Following() {
  *alive_ = false;
  ensemble_.remove(*this);
}

void Following::on_changed(const std::string& path) {
  if (!over_ && nodes_.contains(path)) read(path);
}

// Nothing is known to be as it was told.
void Following::on_new_session() {
  if (over_ || nodes_.empty()) return;
  current_told_ = false;
  window_.clear();
  std::vector<std::string> paths;
  for (auto& [path, node] : nodes_) {
    node.call.cancel();
    node.reading = node.again = false;
    paths.push_back(path);
  }
  for (const std::string& path : paths) read(path);
}

void Following::read(const std::string& path) {
  Node& node = nodes_[path];
  if (node.reading) {
    node.again = true;
    return;
  }
  node.reading = true;
  window_.add([this, path] { send(path); });
}

void Following::send(const std::string& path) {
  nodes_.at(path).again = false;
  path == root_ ? read_children(path) : read_data(path);
}

void Following::read_data(const std::string& path) {
  nodes_.at(path).call = ensemble_.session().get(
      path, Session::Watch::kYes, [this, path](const Answer& answer) { on_data(path, answer); });
}

void Following::on_data(const std::string& path, const Answer& answer) {
  if (!accept(path, answer)) return;
  const Revision told = nodes_.at(path).told;
  if (answer.rc == ZNONODE) {
    // The revision is not known, only that it is larger than the key's.
    if (told != 0 && !tell_deleted(path, told + 1)) return;
    return forget(path);
  }
  const bool is_key = !is_marker(answer.data);
  if (is_key && answer.stat.mzxid != told && !tell_put(path, answer)) return;
  if (!is_key && told != 0 && !tell_deleted(path, answer.stat.mzxid)) return;
  if (answer.stat.ephemeralOwner != 0) return done(path);  // has no children
  read_children(path);
}

void Following::read_children(const std::string& path) {
  nodes_.at(path).call = ensemble_.session().children(
      path, Session::Watch::kYes,
      [this, path](const Answer& answer) { on_children(path, answer); });
}

// A child that is no longer there tells so itself: it has a watch, too.
void Following::on_children(const std::string& path, const Answer& answer) {
  if (!accept(path, answer)) return;
  if (answer.rc == ZNONODE && path == root_) return wait_for_root();
  for (const std::string& name : answer.names) {
    const std::string child = child_of(path, name);
    if (!child.starts_with(prefix_) || is_reserved(child)) continue;
    if (!nodes_.contains(child)) read(child);
  }
  done(path);
}

// A node that is not there can be watched only by asking whether it is.
void Following::wait_for_root() {
  nodes_.at(root_).call =
      ensemble_.session().exists(root_, Session::Watch::kYes, [this](const Answer& answer) {
        if (!accept(root_, answer)) return;
        if (answer.rc == ZOK) return read_children(root_);
        done(root_);
      });
}

void Following::done(const std::string& path) {
  Node& node = nodes_.at(path);
  if (node.again) return send(path);
  node.reading = false;
  window_.done();
  if (window_.empty()) tell_current();
}

// If it is made again, the watch on its parent's children tells.
void Following::forget(const std::string& path) {
  nodes_.erase(path);
  window_.done();
  if (window_.empty()) tell_current();
}

bool Following::accept(const std::string& path, const Answer& answer) {
  if (answer.rc == ZOK || answer.rc == ZNONODE) return true;
  if (is_passing(answer.rc)) {
    nodes_.at(path).call = ensemble_.system().after(kPause, [this, path] { send(path); });
    return false;
  }
  over_ = true;
  nodes_.clear();
  tell(error_of(answer.rc, path));
  return false;
}

bool Following::tell_put(const std::string& path, const Answer& answer) {
  nodes_.at(path).told = answer.stat.mzxid;
  return tell(Fact{Fact::Kind::kPut, key_value(path, answer)});
}

bool Following::tell_deleted(const std::string& path, Revision revision) {
  nodes_.at(path).told = 0;
  return tell(Fact{Fact::Kind::kDeleted, {.key = path, .mod_revision = revision}});
}

void Following::tell_current() {
  if (!std::exchange(current_told_, true)) tell(Fact{});
}

bool Following::tell(Result<Fact> fact) {
  const auto alive = alive_;
  const auto on_fact = on_fact_;  // it may destroy us
  on_fact(std::move(fact));
  return *alive;
}

}  // namespace edl::store::zookeeper
