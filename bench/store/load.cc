#include "bench/store/load.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "edl/base/text.h"
#include "edl/store/etcd_store.h"

namespace edl::bench {
namespace {

constexpr std::size_t kKeys = 1000;
constexpr std::size_t kValueBytes = 256;
constexpr std::string_view kPutPrefix = "/bench/put/";

double rounded(double value, double unit) { return std::round(value / unit) * unit; }

double micros_of(Duration duration) { return seconds(duration) * 1e6; }

// Keys that nobody has used.
std::string fresh_prefix(std::string_view what) {
  static int used = 0;
  return text("/bench/", what, "/", used++, "/");
}

}  // namespace

Target::Target(std::unique_ptr<Server> started) : server(std::move(started)) {
  for (std::size_t i = 0; i < kClientsMax; ++i) clients.push_back(server->client());
}

double percentile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  const auto last = static_cast<double>(values.size() - 1);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::ceil(part * last));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

namespace {

class Loops {
 public:
  Loops(os::PosixSystem& system, const Load& load, const Operation& operation)
      : system_(system), operation_(operation), left_(load.count), pending_(load.clients) {}

  Result<Samples> run() {
    const Time begin = system_.now();
    under_way_ = pending_.size();
    for (std::size_t client = 0; client < pending_.size(); ++client) next(client);
    while (under_way_ > 0 && !error_) system_.run();
    if (error_) return *error_;
    samples_.seconds = seconds(system_.now() - begin);
    return std::move(samples_);
  }

 private:
  void next(std::size_t client) {
    if (left_ == 0) {
      if (--under_way_ == 0) system_.finish(0);
      return;
    }
    --left_;
    pending_[client] = operation_(client, [this, client, sent = system_.now()](Result<Time> done) {
      if (!done.ok()) {
        error_ = done.error();
        return system_.finish(0);
      }
      samples_.micros.push_back(micros_of(*done - sent));
      next(client);
    });
  }

  os::PosixSystem& system_;
  const Operation& operation_;
  std::size_t left_;
  std::size_t under_way_ = 0;
  Samples samples_;
  std::optional<Error> error_;
  std::vector<os::Pending> pending_;
};

}  // namespace

Result<Samples> run_load(os::PosixSystem& system, const Load& load, const Operation& operation) {
  return Loops(system, load, operation).run();
}

void Comparison::add(std::size_t server, Samples samples) {
  blocks_[server].push_back(std::move(samples));
}

std::vector<double> Comparison::of_rounds(std::size_t server, const std::string& what) const {
  static const std::map<std::string, double> parts{
      {"p50_us", 0.5}, {"p90_us", 0.9}, {"p99_us", 0.99}};
  std::vector<double> values;
  for (const Samples& block : blocks_[server]) {
    const auto part = parts.find(what);
    values.push_back(part == parts.end() ? static_cast<double>(block.micros.size()) / block.seconds
                                         : percentile(block.micros, part->second));
  }
  return values;
}

Json Comparison::numbers(std::size_t server) const {
  std::vector<double> all;
  for (const Samples& block : blocks_[server]) {
    all.insert(all.end(), block.micros.begin(), block.micros.end());
  }
  Json row{{"what", rounds_.what}, {"clients", rounds_.clients}, {"n", all.size()}};
  for (const char* what : {"p50_us", "p90_us", "p99_us", "per_second"}) {
    row[what] = rounded(median(of_rounds(server, what)), 1);
  }
  row["all_p99_us"] = rounded(percentile(all, 0.99), 1);
  return row;
}

// Of each round its own: what disturbs the machine disturbs both.
Json Comparison::ratios() const {
  Json row{{"server", "ratio"}, {"what", rounds_.what}, {"clients", rounds_.clients}};
  for (const char* what : {"p50_us", "p90_us", "p99_us", "per_second"}) {
    const std::vector<double> ours = of_rounds(0, what);
    const std::vector<double> theirs = of_rounds(1, what);
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / theirs[i]);
    row[what] = rounded(median(ratios), 0.01);
  }
  const double all = numbers(0)["all_p99_us"].get<double>();
  row["all_p99_us"] = rounded(all / numbers(1)["all_p99_us"].get<double>(), 0.01);
  const bool met = row["p50_us"].get<double>() <= 1 && row["p99_us"].get<double>() <= 1;
  if (rounds_.is_target) row["note"] = met ? "target met" : "TARGET MISSED: p50, p99 <= 1";
  return row;
}

void Comparison::tell(Table& table, const Targets& targets) const {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    Json row = numbers(i);
    row["server"] = targets[i].server->name();
    if (i == 0 && rounds_.p99_max_us > 0) {
      const bool met = row["all_p99_us"].get<double>() <= rounds_.p99_max_us;
      row["note"] = text(met ? "target met" : "TARGET MISSED", ": p99 <= ", rounds_.p99_max_us);
    }
    table.row(row);
  }
  if (targets.size() == 2) table.row(ratios());
}

namespace {

template <class Response>
store::Done<Response> then(os::System& system, Finished finished) {
  return [&system, finished = std::move(finished)](Result<Response> response) {
    finished(response.ok() ? Result<Time>(system.now()) : Result<Time>(response.error()));
  };
}

Operation puts(os::System& system, Target& target) {
  const auto number = std::make_shared<std::size_t>(0);
  return [&system, &target, number](std::size_t client, Finished finished) {
    const store::PutRequest request{.key = text(kPutPrefix, ++*number % kKeys),
                                    .value = std::string(kValueBytes, 'v')};
    return target.clients[client]->put(request, then<store::PutResponse>(system, finished));
  };
}

Operation ranges(os::System& system, Target& target) {
  return [&system, &target](std::size_t client, Finished finished) {
    const store::RangeRequest request{.key = text(kPutPrefix, client)};
    return target.clients[client]->range(request, then<store::RangeResponse>(system, finished));
  };
}

// Each client changes its own key from what it was, so that every one succeeds.
Operation swaps(os::System& system, Target& target) {
  const auto known = std::make_shared<std::map<std::size_t, store::Revision>>();
  const std::string prefix = fresh_prefix("txn");
  return [&system, &target, known, prefix](std::size_t client, Finished finished) {
    const std::string key = text(prefix, client);
    store::TxnRequest request;
    request.compare.push_back(
        {.target = store::CompareTarget::kMod, .key = key, .mod_revision = (*known)[client]});
    request.success.push_back(
        {store::PutRequest{.key = key, .value = std::string(kValueBytes, 'v')}});
    const auto done = [&system, known, client, finished](Result<store::TxnResponse> response) {
      if (!response.ok()) return finished(response.error());
      if (!response->succeeded) return finished(Error{Code::kConflict, "a swap was refused"});
      (*known)[client] = response->header->revision;
      finished(system.now());
    };
    return target.clients[client]->txn(request, done);
  };
}

// Puts by watchers of their own keys: done when the event has come, and next when the answer has.
class Watched {
 public:
  Watched(os::System& system, Target& target) : system_(system), target_(target) {
    for (std::size_t i = 0; i < target.clients.size(); ++i) {
      watches_.push_back(std::make_unique<store::WatchClient>(*target.clients[i]));
      told_.push_back(watches_.back()->watch({.key = key(i), .start_revision = 1}, [this,
                                                                                    i](auto batch) {
        if (batch.ok() && batch->events.empty()) return;
        states_[i].told = batch.ok() ? Result<Time>(system_.now()) : Result<Time>(batch.error());
        advance(i);
      }));
    }
  }

  os::Pending put(std::size_t client, Finished finished) {
    states_[client] = {.told = {}, .answered = false, .finished = std::move(finished)};
    return target_.clients[client]->put(
        {.key = key(client), .value = std::string(kValueBytes, 'v')},
        [this, client](auto response) {
          if (!response.ok()) states_[client].told = response.error();
          states_[client].answered = true;
          advance(client);
        });
  }

 private:
  struct State {
    std::optional<Result<Time>> told;
    bool answered = false;
    Finished finished;
  };

  std::string key(std::size_t client) const { return text(prefix_, client); }

  void advance(std::size_t client) {
    State& state = states_[client];
    if (!state.told || !state.answered || !state.finished) return;
    const Finished finished = std::exchange(state.finished, nullptr);
    finished(*state.told);
  }

  os::System& system_;
  Target& target_;
  const std::string prefix_ = fresh_prefix("watched");
  std::map<std::size_t, State> states_;
  std::vector<std::unique_ptr<store::WatchClient>> watches_;
  std::vector<os::Pending> told_;
};

using MakeOperation = std::function<Operation(Target&)>;

Result<void> compare(os::PosixSystem& system, Targets& targets, Table& table, const Rounds& rounds,
                     const MakeOperation& make) {
  std::vector<Operation> operations;
  const Load load{.clients = rounds.clients, .count = rounds.count * rounds.clients};
  for (Target& target : targets) {
    operations.push_back(make(target));
    EDL_TRY(run_load(system, load, operations.back()));  // to warm up
  }
  Comparison comparison(targets.size(), rounds);
  for (std::size_t round = 0; round < rounds.rounds; ++round) {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const std::size_t at = round % 2 == 0 ? i : targets.size() - 1 - i;
      EDL_TRY(Samples samples, run_load(system, load, operations[at]));
      comparison.add(at, std::move(samples));
    }
  }
  comparison.tell(table, targets);
  return {};
}

}  // namespace

Result<void> measure_calls(os::PosixSystem& system, Targets& targets, Table& table,
                           const Sizes& sizes) {
  std::vector<std::unique_ptr<Watched>> watched;
  const MakeOperation watched_puts = [&](Target& target) {
    Watched& made = *watched.emplace_back(std::make_unique<Watched>(system, target));
    return [&made](std::size_t client, Finished finished) {
      return made.put(client, std::move(finished));
    };
  };
  const std::vector<std::pair<std::string, MakeOperation>> kinds{
      {"put", [&](Target& target) { return puts(system, target); }},
      {"txn", [&](Target& target) { return swaps(system, target); }},
      {"range", [&](Target& target) { return ranges(system, target); }},
      {"put to event", watched_puts}};
  for (const auto& [what, make] : kinds) {
    for (const std::size_t clients : {std::size_t{1}, kClientsMax}) {
      const Rounds rounds{.what = what,
                          .clients = clients,
                          .rounds = sizes.rounds,
                          .count = clients == 1 ? sizes.count : sizes.count_each,
                          .is_target = what == "put"};
      EDL_TRY(compare(system, targets, table, rounds, make));
      watched.clear();
    }
  }
  return {};
}

}  // namespace edl::bench
