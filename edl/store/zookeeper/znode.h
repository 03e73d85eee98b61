// How keys and values are kept in ZooKeeper's nodes.
//
// A key is a node's path. The nodes above it are made as needed and hold the marker, one zero byte:
// such a node is not a key. A value that begins with a zero byte is stored with another one before
// it; all others are stored as they are.
//
// A key is made as a marker and then set, in one multi: a key that is new has data version 1, and
// the answer to the set tells its revision, which that to a create does not.
#pragma once

#include <string>

#include "edl/base/result.h"
#include "edl/store/zookeeper/session.h"

namespace edl::store::zookeeper {

inline const std::string marker_value(1, '\0');

// kInvalid when ZooKeeper cannot have such a path.
Result<void> check_key(const std::string& key);
Result<void> check_prefix(const std::string& prefix);

std::string data_of(const std::string& value);
bool is_marker(const std::string& data);
KeyValue key_value(const std::string& path, const Answer& answer);

std::string parent_of(const std::string& path);
std::string child_of(const std::string& path, const std::string& name);
// The node below which all keys of the prefix are: up to its last slash.
std::string root_of(const std::string& prefix);
// ZooKeeper's own.
bool is_reserved(const std::string& path);

// The connection or the session failed, not the request: to be asked again.
bool is_passing(int rc);
Error error_of(int rc, const std::string& path);

}  // namespace edl::store::zookeeper
