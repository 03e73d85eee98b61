// Policies: each is one file in policies/ and one line in registry.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "edl/base/result.h"
#include "edl/scheduler/draft.h"

namespace edl::scheduler {

struct Policy {
  std::string_view name;
  std::string_view about;  // one line
  void (*decide)(Draft& draft);
  bool resizes = true;        // gives jobs other sizes than they want
  bool adapts_batch = false;  // expects jobs that choose their batch by their size
  bool has_rules = false;     // EDL's rules of steadiness always hold (steady.h)
};

std::span<const Policy* const> policies();
Result<const Policy*> find_policy(std::string_view name);

}  // namespace edl::scheduler
