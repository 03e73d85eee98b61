// A store and its clients in a virtual cluster, under faults by seed.
#pragma once

#include <memory>
#include <string>

#include "edl/os/virtual/chaos.h"
#include "edl/os/virtual/world.h"
#include "tests/world/store_journal.h"

namespace edl::tests {

struct StoreWorldOptions {
  std::uint64_t seed = 1;
  int clients = 5;
  std::size_t operations = 60;  // of each client
  Duration faults_for = 20s;
};

class StoreWorld {
 public:
  explicit StoreWorld(const StoreWorldOptions& options);
  ~StoreWorld();

  void run();
  // The first promise that was broken; empty when all were kept.
  const std::string& violation() const { return violation_; }
  os::VirtualWorld& world() { return world_; }
  Journal& journal() { return journal_; }
  // How often the server's process ended, running or starting.
  std::uint64_t server_crashes() const { return crashes_; }

 private:
  class Server;
  class Auditor;

  void add_server();
  void add_clients();
  void unleash();
  void crash_until(std::uint64_t count);
  bool all_done();
  void check_calm();
  void violate(std::string what);

  const StoreWorldOptions options_;
  Journal journal_;
  os::VirtualWorld world_;
  std::uint64_t crashes_ = 0;
  std::string violation_;
};

}  // namespace edl::tests
