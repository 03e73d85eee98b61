// Frames between an agent and its workers: docs/reference/job.md.
#pragma once

#include <cstdint>

namespace edl::train {

enum class ParentFrame : std::uint32_t {
  kSetup = 1,
  kReport = 2,
  kLeave = 3,
  kGone = 4,
  kFault = 5,
  kEvents = 16,
  kState = 17,
  kFiring = 18,
  kDied = 19,
  kProgram = 20,
};

// What the environment tells a program that an agent started: which of its parts to play.
inline constexpr const char* kRoleVariable = "EDL_ROLE";
inline constexpr const char* kRoleDescribe = "describe";  // tell about yourself, then end
inline constexpr const char* kRoleParent = "parent";      // load, then fork workers on request
inline constexpr const char* kRoleWorker = "worker";      // be a worker

}  // namespace edl::train
