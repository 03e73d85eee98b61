// Closed loops against a store: each client sends, waits for the answer, and sends again.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/store/servers.h"
#include "bench/table.h"
#include "edl/store/watch_client.h"

namespace edl::bench {

constexpr std::size_t kClientsMax = 16;

// A server, and the clients that load it.
struct Target {
  explicit Target(std::unique_ptr<Server> started);

  std::unique_ptr<Server> server;
  std::vector<std::unique_ptr<store::Client>> clients;
};
using Targets = std::vector<Target>;

// One thing that a client does, and when it was done.
using Finished = std::function<void(Result<Time>)>;
using Operation = std::function<os::Pending(std::size_t client, Finished finished)>;

struct Samples {
  std::vector<double> micros;
  double seconds = 0;
};
struct Load {
  std::size_t clients = 1;
  std::size_t count = 0;  // of operations, over all clients
};
Result<Samples> run_load(os::PosixSystem& system, const Load& load, const Operation& operation);

double percentile(std::vector<double> values, double part);

// What is measured in rounds: one block of the embedded store, one of etcd, and so on. Told are the
// medians over the rounds; `all_p99_us` is over all rounds together.
struct Rounds {
  std::string what;
  std::size_t clients = 1;
  std::size_t rounds = 10;
  std::size_t count = 200;  // in each round, for each client
  bool is_target = false;   // p50 and p99 are not to be above etcd's
  double p99_max_us = 0;    // of the embedded store; 0: none
};
class Comparison {
 public:
  Comparison(std::size_t servers, Rounds rounds) : rounds_(std::move(rounds)), blocks_(servers) {}

  void add(std::size_t server, Samples samples);
  void tell(Table& table, const Targets& targets) const;

 private:
  Json numbers(std::size_t server) const;
  Json ratios() const;
  std::vector<double> of_rounds(std::size_t server, const std::string& what) const;

  const Rounds rounds_;
  std::vector<std::vector<Samples>> blocks_;
};

struct Sizes {
  std::size_t rounds = 10;
  std::size_t count = 300;
  std::size_t count_each = 60;  // of each client, when there are many
};
// Puts, transactions, ranges, and puts that are watched.
Result<void> measure_calls(os::PosixSystem& system, Targets& targets, Table& table,
                           const Sizes& sizes);

}  // namespace edl::bench
