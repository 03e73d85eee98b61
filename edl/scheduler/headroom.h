// What would be left if only those that were taken so far were there: tells whether somebody's
// minimum could be had, before anyone is moved for it.
#pragma once

#include <string_view>
#include <vector>

#include "edl/scheduler/snapshot.h"

namespace edl::scheduler {

class Headroom {
 public:
  explicit Headroom(const Snapshot& snapshot);

  void take(const Job& job, const Shares& shares);
  bool fits_minimum(const Job& job);

 private:
  // Workers that all nodes together have room for, of one kind of job; counted from its first
  // question on.
  struct Room {
    std::string_view kind{};
    std::uint32_t slots_per_worker = 1;
    std::uint64_t workers = 0;
  };

  std::uint64_t on_node(const Room& room, std::uint32_t node) const;
  Room& room_of(const Job& job);

  const Snapshot& snapshot_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint64_t> quota_;
  std::vector<Room> rooms_;
};

}  // namespace edl::scheduler
