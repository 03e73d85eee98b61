// What is too much. Everything that comes from outside is checked against these.
#pragma once

#include <cstddef>
#include <cstdint>

namespace edl::model {

inline constexpr std::size_t kNameMax = 63;
inline constexpr std::size_t kTextMax = 4096;
inline constexpr std::size_t kListMax = 4096;
inline constexpr std::size_t kMembersMax = 4096;
inline constexpr std::uint32_t kLogicalWorkersMax = 65536;
inline constexpr std::uint32_t kSilentStepsMax = 1000000;
inline constexpr std::uint64_t kSamplesMax = std::uint64_t{1} << 63;

}  // namespace edl::model
