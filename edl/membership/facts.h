// What the store says of a job's workers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edl/batch/rate.h"
#include "edl/model/ids.h"

namespace edl::membership {

// A worker as the store knows it.
struct Registered {
  std::string address{};
  std::string host{};
  bool exited = false;  // its agent saw it end: certain
};
struct Wanted {
  std::uint32_t workers = 1;
  bool stop = false;
  std::string by{};
  std::string reason{};
};

// What the steps up to now were trained with.
struct Terms {
  std::uint64_t batch = 0;  // global
  batch::Rate rate{};
};

using Ids = std::vector<model::WorkerId>;

}  // namespace edl::membership
