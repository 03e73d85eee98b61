// How many samples a data set has: a number; or, when it is a stream, nobody knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "edl/base/check.h"
#include "edl/base/json.h"
#include "edl/base/result.h"

namespace edl::model {

class SampleCount {
 public:
  // Most know it, so that a number is one.
  constexpr SampleCount(std::uint64_t samples) : samples_(samples) {}
  static constexpr SampleCount unknown() { return {}; }

  bool is_known() const { return samples_.has_value(); }
  std::uint64_t known() const {
    EDL_CHECK(samples_.has_value());
    return *samples_;
  }
  bool operator==(const SampleCount&) const = default;

 private:
  constexpr SampleCount() = default;

  std::optional<std::uint64_t> samples_;
};

// In an object: "samples" with a number, or "stream": true.
void write_samples(Json& json, const SampleCount& samples);
void read_samples(JsonReader& in, SampleCount& samples);
Result<void> validate_samples(const SampleCount& samples);
// "1437 samples", "a stream of samples".
std::string samples_text(const SampleCount& samples);

}  // namespace edl::model
