// What EDL needs of a store, whichever serves it: etcd's API (the embedded store, an etcd cluster)
// or ZooKeeper. Keys are paths ("/edl/v1/jobs/a/view"), values are bytes.
//
// Callbacks run on the loop, never inside the call that asked for them. Destroying a Pending drops
// its callback; a change may happen all the same. The store outlives its Pendings.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "edl/os/system.h"
#include "edl/store/message.h"

namespace edl::store {

template <class T>
using Done = std::function<void(Result<T>)>;

// A change that happens only if every condition holds, all of it or nothing.
struct Change {
  struct Condition {
    std::string key;
    Revision mod_revision = 0;  // what the key has; 0: it does not exist
  };
  struct Put {
    std::string key;
    std::string value;
    LeaseId lease = 0;
  };
  std::vector<Condition> conditions{};
  std::vector<Put> puts{};
  std::vector<std::string> deletes{};
};
struct Changed {
  bool happened = false;  // false: a condition did not hold
  Revision revision = 0;  // that the puts have, if it happened
};

// What is known about the keys under a prefix.
struct Fact {
  enum class Kind {
    kPut,      // the key has this value now
    kDeleted,  // the key is gone
    kCurrent,  // everything before this fact is told; the picture is whole
  };
  Kind kind = Kind::kCurrent;
  KeyValue kv{};  // of kDeleted only key and mod_revision
};
// After an error nothing more comes; while the store is only away, nothing is told.
using OnFact = std::function<void(Result<Fact>)>;

// Errors of changes: kUnavailable, it has not happened; kTimeout, it may have. Those of the rest:
// kUnavailable or kTimeout, ask again; kConflict, this is another store than before.
class Store {
 public:
  virtual ~Store() = default;

  [[nodiscard]] virtual os::Pending find(const std::string& key,
                                         Done<std::optional<KeyValue>> done) = 0;
  // All keys that begin with the prefix, in order, as they were at one moment.
  [[nodiscard]] virtual os::Pending list(const std::string& prefix,
                                         Done<std::vector<KeyValue>> done) = 0;
  [[nodiscard]] virtual os::Pending change(const Change& change, Done<Changed> done) = 0;

  // Keys that hang on a lease go when it is over.
  [[nodiscard]] virtual os::Pending grant(Duration length, Done<LeaseId> done) = 0;
  // Answers how long it lasts from now; kNotFound when it is over.
  [[nodiscard]] virtual os::Pending renew(LeaseId lease, Done<Duration> done) = 0;
  [[nodiscard]] virtual os::Pending revoke(LeaseId lease, Done<void> done) = 0;

  // First every key under the prefix and kCurrent, then each change. After a gap that the store
  // cannot fill (compaction) only the difference is told, and kCurrent again.
  [[nodiscard]] virtual os::Pending follow(const std::string& prefix, OnFact on_fact) = 0;

  virtual os::System& system() = 0;
};

}  // namespace edl::store
