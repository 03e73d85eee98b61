#include "edl/store/zookeeper/znode.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::store::zookeeper {
namespace {

Error refused(const std::string& key, const std::string& why) {
  return Error{Code::kInvalid, text("ZooKeeper has no key \"", key, "\": ", why)};
}

Result<void> check_path(const std::string& path) {
  if (!path.starts_with('/')) return refused(path, "a key begins with a slash");
  if (is_reserved(path)) return refused(path, "below /zookeeper are its own nodes");
  const bool printable = std::ranges::all_of(path, [](char c) { return c > 0x1f && c < 0x7f; });
  if (!printable) return refused(path, "a key is of printable ASCII");
  return {};
}

}  // namespace

Result<void> check_key(const std::string& key) {
  EDL_TRY(check_path(key));
  for (const std::string_view part : split(std::string_view(key).substr(1), '/')) {
    if (part.empty()) return refused(key, "between its slashes there is something");
    if (part == "." || part == "..") return refused(key, "no part of it is . or ..");
  }
  return {};
}

Result<void> check_prefix(const std::string& prefix) {
  if (prefix.empty()) return {};
  EDL_TRY(check_path(prefix));
  const std::string root = root_of(prefix);
  return root == "/" ? Result<void>() : check_key(root);
}

std::string data_of(const std::string& value) {
  return value.starts_with('\0') ? marker_value + value : value;
}

bool is_marker(const std::string& data) { return data == marker_value; }

KeyValue key_value(const std::string& path, const Answer& answer) {
  KeyValue kv{.key = path,
              .create_revision = answer.stat.czxid,
              .mod_revision = answer.stat.mzxid,
              .version = std::max(1, answer.stat.version),  // 0: made by somebody else's tool
              .value = answer.data,
              .lease = answer.stat.ephemeralOwner};
  if (kv.value.starts_with('\0')) kv.value.erase(0, 1);
  return kv;
}

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::string child_of(const std::string& path, const std::string& name) {
  return path == "/" ? "/" + name : path + "/" + name;
}

std::string root_of(const std::string& prefix) { return parent_of(prefix); }

bool is_reserved(const std::string& path) {
  return path == "/zookeeper" || path.starts_with("/zookeeper/");
}

bool is_passing(int rc) {
  switch (rc) {
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSESSIONEXPIRED:
    case ZSESSIONMOVED:
    case ZINVALIDSTATE:
    case ZBADARGUMENTS:  // of a handle that is closed; paths are checked before
    case ZCLOSING:
    case ZTHROTTLEDOP:
      return true;
    default:
      return false;
  }
}

Error error_of(int rc, const std::string& path) {
  return Error{Code::kInvalid, text("ZooKeeper refused ", path, ": ", zerror(rc))};
}

}  // namespace edl::store::zookeeper
