#include "edl/scheduler/headroom.h"

#include <algorithm>

namespace edl::scheduler {

Headroom::Headroom(const Snapshot& snapshot) : snapshot_(snapshot) {
  for (const Node& node : snapshot.nodes) free_.push_back(node.slots);
  for (const Tenant& tenant : snapshot.tenants) quota_.push_back(tenant.quota);
}

void Headroom::take(const Job& job, const Shares& shares) {
  for (const Share& share : shares) {
    const std::uint32_t slots = share.count * job.slots_per_worker;
    for (Room& room : rooms_) room.workers -= on_node(room, share.node);
    free_[share.node] -= std::min(free_[share.node], slots);
    for (Room& room : rooms_) room.workers += on_node(room, share.node);
    if (job.tenant) quota_[*job.tenant] -= std::min<std::uint64_t>(quota_[*job.tenant], slots);
  }
}

bool Headroom::fits_minimum(const Job& job) {
  const std::uint64_t slots = std::uint64_t{job.min} * job.slots_per_worker;
  if (job.tenant && slots > quota_[*job.tenant]) return false;
  return job.min <= room_of(job).workers;
}

std::uint64_t Headroom::on_node(const Room& room, std::uint32_t node) const {
  const bool allowed = room.kind.empty() || room.kind == snapshot_.nodes[node].kind;
  return allowed ? free_[node] / room.slots_per_worker : 0;
}

Headroom::Room& Headroom::room_of(const Job& job) {
  for (Room& room : rooms_) {
    if (room.kind == job.kind && room.slots_per_worker == job.slots_per_worker) return room;
  }
  Room& room = rooms_.emplace_back(Room{job.kind, job.slots_per_worker});
  for (std::uint32_t n = 0; n < free_.size(); ++n) room.workers += on_node(room, n);
  return room;
}

}  // namespace edl::scheduler
