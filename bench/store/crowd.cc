#include "bench/store/crowd.h"

#include <algorithm>
#include <map>

#include "edl/base/text.h"
#include "edl/store/etcd_store.h"

namespace edl::bench {
namespace {

constexpr std::string_view kPrefix = "/bench/crowd/";
constexpr Duration kTellLimit = 60s;
constexpr double kTargetMicros = 100'000;

class Crowd {
 public:
  Crowd(os::PosixSystem& system, Target& target) : system_(system), target_(target) {}

  // All begin behind the same revision, so that nobody misses what is put while they open.
  Result<void> open(std::size_t watchers) {
    EDL_TRY(const store::Revision behind, put());
    const store::WatchCreateRequest request{.key = std::string(kPrefix),
                                            .range_end = store::prefix_end(std::string(kPrefix)),
                                            .start_revision = behind + 1};
    next_ = behind + 1;
    EDL_TRY(put());
    const std::int64_t before = target_.server->resident_bytes();
    for (std::size_t i = 0; i < watchers; ++i) {
      watches_.push_back(std::make_unique<store::WatchClient>(*target_.clients[0]));
      pending_.push_back(
          watches_.back()->watch(request, [this, i](auto batch) { on_batch(i, batch); }));
    }
    EDL_TRY(wait_until_told());
    bytes_each_ = (target_.server->resident_bytes() - before) / static_cast<std::int64_t>(watchers);
    return {};
  }

  // One put, until all have heard of it: the microseconds that each watcher waited.
  Result<Samples> tell() {
    micros_.clear();
    sent_ = system_.now();
    EDL_TRY(next_, put());
    EDL_TRY(wait_until_told());
    const double last = *std::max_element(micros_.begin(), micros_.end());
    return Samples{micros_, last / 1e6};
  }

  std::int64_t bytes_each() const { return bytes_each_; }

 private:
  Result<store::Revision> put() {
    EDL_TRY(const auto response,
            wait_for<store::PutResponse>(system_, [&](store::Done<store::PutResponse> done) {
              return target_.clients[1]->put({.key = text(kPrefix, "a"), .value = "told"},
                                             std::move(done));
            }));
    return response.header->revision;
  }

  // While a put is under way its revision is not known yet, so that is checked when all is heard.
  void on_batch(std::size_t watcher, const Result<store::WatchBatch>& batch) {
    if (!batch.ok()) return fail(batch.error().message);
    for (const store::Event& event : batch->events) {
      if (!heard_.emplace(watcher, event.kv.mod_revision).second) fail("one heard it twice");
      micros_.push_back(seconds(system_.now() - sent_) * 1e6);
    }
    if (heard_.size() >= watches_.size()) system_.finish(0);
  }

  Result<void> wait_until_told() {
    const os::Pending limit = system_.after(kTellLimit, [&] { fail("some heard nothing"); });
    while (!wrong_ && heard_.size() < watches_.size()) system_.run();
    for (const auto& [watcher, revision] : heard_) {
      if (revision != next_) fail(text("one heard of ", revision, " instead of ", next_));
    }
    if (wrong_) {
      return Error{Code::kCorrupt,
                   text(target_.server->name(), ", ", watches_.size(), " watchers: ", *wrong_)};
    }
    heard_.clear();
    return {};
  }

  void fail(std::string why) {
    wrong_ = std::move(why);
    system_.finish(0);
  }

  os::PosixSystem& system_;
  Target& target_;
  std::vector<std::unique_ptr<store::WatchClient>> watches_;
  std::vector<os::Pending> pending_;
  std::map<std::size_t, store::Revision> heard_;  // by whom, since the last put
  std::vector<double> micros_;
  store::Revision next_ = 0;
  Time sent_{};
  std::optional<std::string> wrong_;
  std::int64_t bytes_each_ = 0;
};

struct Told {
  Comparison pairs;
  Comparison last;
};

Result<void> run_rounds(std::vector<std::unique_ptr<Crowd>>& crowds, const CrowdSizes& sizes,
                        Told& told) {
  for (std::size_t round = 0; round < sizes.rounds; ++round) {
    for (std::size_t at = 0; at < crowds.size(); ++at) {
      Samples pairs;
      Samples last;
      for (std::size_t i = 0; i < sizes.count; ++i) {
        EDL_TRY(const Samples one, crowds[at]->tell());
        pairs.micros.insert(pairs.micros.end(), one.micros.begin(), one.micros.end());
        pairs.seconds += one.seconds;
        last.micros.push_back(one.seconds * 1e6);
        last.seconds += one.seconds;
      }
      told.pairs.add(at, std::move(pairs));
      told.last.add(at, std::move(last));
    }
  }
  return {};
}

}  // namespace

Result<void> measure_crowd(os::PosixSystem& system, Targets& targets, Table& table,
                           const CrowdSizes& sizes) {
  std::vector<std::unique_ptr<Crowd>> crowds;
  for (Target& target : targets) {
    crowds.push_back(std::make_unique<Crowd>(system, target));
    EDL_TRY(crowds.back()->open(sizes.watchers));
    EDL_TRY(crowds.back()->tell());  // to warm up
  }
  const Rounds pairs{
      .what = "event to each", .clients = sizes.watchers, .p99_max_us = kTargetMicros};
  const Rounds last{.what = "event to last", .clients = sizes.watchers};
  Told told{Comparison(targets.size(), pairs), Comparison(targets.size(), last)};
  EDL_TRY(run_rounds(crowds, sizes, told));
  told.pairs.tell(table, targets);
  told.last.tell(table, targets);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    table.row({{"server", targets[i].server->name()},
               {"what", "watcher memory"},
               {"n", sizes.watchers},
               {"bytes", crowds[i]->bytes_each()},
               {"note", "resident, for each watcher; all heard all in order"}});
  }
  return {};
}

}  // namespace edl::bench
