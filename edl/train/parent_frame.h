// Frames between an agent and its workers: docs/reference/job.md.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace edl::train {

enum class ParentFrame : std::uint32_t {
  kSetup = 1,
  kReport = 2,
  kLeave = 3,
  kGone = 4,
  kFault = 5,
  kReplay = 6,
  kEvents = 16,
  kState = 17,
  kFiring = 18,
  kDied = 19,
  kProgram = 20,
  kReplayed = 21,
  kRefused = 22,
};

// What the environment tells a program that an agent started: which of its parts to play.
inline constexpr const char* kRoleVariable = "EDL_ROLE";
inline constexpr const char* kRoleDescribe = "describe";  // tell about yourself, then end
inline constexpr const char* kRoleParent = "parent";      // load, then fork workers on request
inline constexpr const char* kRoleWorker = "worker";      // be a worker
inline constexpr const char* kRoleReplay = "replay";      // compute steps of the past once more

// The job's seed, for programs that must know it before they can tell about themselves; empty when
// it is theirs to say.
inline constexpr const char* kSeedVariable = "EDL_JOB_SEED";

// The descriptor that leads to the agent, as the environment says it; -1 when it says none.
inline int parent_descriptor(std::string_view said) {
  constexpr int kMost = 1024;
  int number = -1;
  const char* const end = said.data() + said.size();
  const auto parsed = std::from_chars(said.data(), end, number);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == end;
  return is_number && number >= 0 && number <= kMost ? number : -1;
}

}  // namespace edl::train
