#include "edl/store/zookeeper/walk.h"

namespace edl::store::zookeeper {

void Walk::attempt() {
  calls_.clear();
  nodes_.clear();
  kvs_.clear();
  window_.clear();
  verifying_ = false;
  calls_.push_back(
      ensemble().session().sync([this](const Answer& answer) { accept(answer, root_); }));
  enter(root_);
}

void Walk::visit(const std::string& path) {
  window_.add([this, path] {
    calls_.push_back(ensemble().session().get(
        path, Session::Watch::kNo, [this, path](const Answer& answer) { on_node(path, answer); }));
  });
}

void Walk::enter(const std::string& path) {
  window_.add([this, path] {
    calls_.push_back(ensemble().session().children(
        path, Session::Watch::kNo,
        [this, path](const Answer& answer) { on_children(path, answer); }));
  });
}

void Walk::on_node(const std::string& path, const Answer& answer) {
  if (!accept(answer, path)) return;
  if (answer.rc == ZNONODE) return begin_anew();
  nodes_[path] = seen(path, answer.stat);
  if (!is_marker(answer.data)) kvs_[path] = key_value(path, answer);
  if (answer.stat.numChildren > 0) enter(path);
  leave();
}

void Walk::on_children(const std::string& path, const Answer& answer) {
  if (!accept(answer, path)) return;
  if (answer.rc == ZNONODE) return path == root_ ? finish(std::vector<KeyValue>()) : begin_anew();
  if (path == root_) nodes_[path] = seen(path, answer.stat);
  for (const std::string& name : answer.names) {
    const std::string child = child_of(path, name);
    if (child.starts_with(prefix_) && !is_reserved(child)) visit(child);
  }
  leave();
}

void Walk::leave() {
  window_.done();
  if (!window_.empty()) return;
  if (!verifying_) return verify();
  std::vector<KeyValue> kvs;
  for (auto& [path, kv] : kvs_) kvs.push_back(std::move(kv));
  finish(std::move(kvs));
}

void Walk::verify() {
  verifying_ = true;
  calls_.clear();
  for (const auto& [path, before] : nodes_) {
    window_.add([this, path = path] {
      calls_.push_back(ensemble().session().exists(
          path, Session::Watch::kNo,
          [this, path](const Answer& answer) { on_verified(path, answer); }));
    });
  }
}

void Walk::on_verified(const std::string& path, const Answer& answer) {
  if (!accept(answer, path)) return;
  if (answer.rc == ZNONODE || seen(path, answer.stat) != nodes_.at(path)) return begin_anew();
  leave();
}

bool Walk::accept(const Answer& answer, const std::string& path) {
  if (answer.rc == ZOK || answer.rc == ZNONODE) return true;
  calls_.clear();
  is_fine(answer, path);  // tells or tries again; may destroy us
  return false;
}

void Walk::begin_anew() {
  calls_.clear();
  try_again_at_once();
}

Walk::Seen Walk::seen(const std::string& path, const Stat& stat) const {
  return {path == root_ ? 0 : stat.mzxid, stat.pzxid};
}

}  // namespace edl::store::zookeeper
