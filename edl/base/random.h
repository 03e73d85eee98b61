// Random numbers that are the same on every machine and build for the same seed: integers only,
// none of the standard library's distributions.
#pragma once

#include <cstdint>

#include "edl/base/check.h"
#include "edl/base/time.h"

namespace edl {

// splitmix64: its finaliser of x + the golden ratio. Part of the order of samples, so never
// changed.
constexpr std::uint64_t mix64(std::uint64_t x) {
  std::uint64_t z = x + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix64(seed)) {}

  std::uint64_t next() {
    const std::uint64_t value = mix64(state_);
    state_ += 0x9E3779B97F4A7C15u;
    return value;
  }

  // Uniform in [0, bound).
  std::uint64_t below(std::uint64_t bound) {
    EDL_CHECK(bound > 0);
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  // Uniform in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  Duration between(Duration low, Duration high) {
    return Duration(between(low.count(), high.count()));
  }
  // True once in `one_in` calls on average; never for 0.
  bool once_in(std::uint64_t one_in) { return one_in > 0 && below(one_in) == 0; }
  // A generator of its own, so that one user's draws do not move another's.
  Random fork() { return Random(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace edl
