// Snapshots drawn by a seed: crowded and empty clusters, tenants at their quota, gangs that do not
// fit, jobs in their freeze window.
#pragma once

#include "edl/base/random.h"
#include "edl/base/text.h"
#include "edl/scheduler/snapshot.h"

namespace edl::scheduler {

class SnapshotMaker {
 public:
  explicit SnapshotMaker(std::uint64_t seed) : random_(seed) {}

  Snapshot make() {
    Snapshot out;
    out.now = 100000;
    const auto nodes = random_.between(1, 8);
    const auto slots = random_.between(1, 8);
    for (std::int64_t n = 0; n < nodes; ++n) {
      const bool odd = random_.once_in(10);
      out.nodes.push_back({.name = text("n", n),
                           .slots = static_cast<std::uint32_t>(odd ? random_.between(0, 8) : slots),
                           .kind = random_.once_in(8) ? "fast" : "",
                           .domain = random_.once_in(2) ? "left" : "right"});
    }
    const auto tenants = random_.between(0, 3);
    for (std::int64_t t = 0; t < tenants; ++t) {
      out.tenants.push_back({.name = text("t", t)});
      if (!random_.once_in(3)) out.tenants.back().quota = random_.below(slots_of(out) + 2);
    }
    const auto jobs = random_.between(0, 14);
    for (std::int64_t j = 0; j < jobs; ++j) out.jobs.push_back(job(out, j));
    return out;
  }

 private:
  Job job(const Snapshot& snapshot, std::int64_t number) {
    Job out;
    out.name = text("j", number);
    if (!snapshot.tenants.empty() && !random_.once_in(3)) {
      out.tenant = static_cast<std::uint32_t>(random_.below(snapshot.tenants.size()));
    }
    out.priority = random_.once_in(3) ? static_cast<std::int32_t>(random_.between(-1, 2)) : 0;
    out.min = static_cast<std::uint32_t>(random_.once_in(2) ? 1 : random_.between(1, 6));
    out.max = out.min + static_cast<std::uint32_t>(random_.below(12));
    out.wanted = random_.once_in(2) ? 0 : static_cast<std::uint32_t>(random_.between(1, 12));
    out.slots_per_worker =
        random_.once_in(4) ? static_cast<std::uint32_t>(random_.between(2, 4)) : 1;
    if (random_.once_in(10)) out.kind = "fast";
    out.submitted = static_cast<double>(random_.below(100000));
    out.since = out.submitted;
    if (random_.once_in(2)) out.remaining = static_cast<double>(1 + random_.below(100000));
    out.logical_workers =
        random_.once_in(3) ? static_cast<std::uint32_t>(random_.between(1, 16)) : 0;
    out.change_cost_s = static_cast<double>(random_.below(60));
    if (random_.once_in(5)) out.frozen_until = 100000 + static_cast<double>(random_.below(100));
    out.near_end = random_.once_in(5);
    if (random_.once_in(8)) out.price_max = static_cast<double>(random_.below(200000));
    out.attained_s = static_cast<double>(random_.below(100000));
    double per_s = 1 + static_cast<double>(random_.below(10));
    for (std::uint32_t k = 1; k <= out.max && !random_.once_in(6); ++k) {
      out.throughput.push_back({k, 1 + (k - 1) / 4, per_s});
      out.tried = k;
      per_s *= 1 + static_cast<double>(random_.below(1000)) / 1000 / k;
    }
    return out;
  }

  Random random_;
};

}  // namespace edl::scheduler
