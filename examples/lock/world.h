// A virtual cluster around one lock: a server, some workers that take turns at a resource, and
// faults. Whether the lock keeps its promise is checked after every event.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "edl/os/virtual/chaos.h"
#include "edl/os/virtual/world.h"
#include "examples/lock/core.h"

namespace edl::lock {

class Worker;

struct LockWorldOptions {
  std::uint64_t seed = 1;
  int workers = 4;
  Duration faults_for = 30s;
  int faults = 10;
  bool quiet = true;
};

class LockWorld {
 public:
  explicit LockWorld(const LockWorldOptions& options);
  ~LockWorld();

  // Runs the faults, then waits until every worker had the lock once more. The first violation of a
  // promise ends it.
  void run();

  // Empty when all promises were kept.
  const std::string& violation() const { return violation_; }
  os::VirtualWorld& world() { return world_; }
  std::uint64_t uses() const { return uses_; }
  std::uint64_t crashes() const;

 private:
  friend class Worker;

  void add_server();
  void add_worker(int number);
  void observe(const Decision& decision);
  void use_resource(const std::string& worker, const Token& token);
  void check_one_holder();
  void violate(std::string what);

  const LockWorldOptions options_;
  std::string violation_;
  std::map<std::string, Worker*> alive_;
  Token highest_;
  std::map<Token, std::string> owners_;
  std::map<std::string, std::uint64_t> uses_since_calm_;
  std::uint64_t uses_ = 0;
  os::VirtualWorld world_;
};

}  // namespace edl::lock
