#include "edl/train/patience.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::train {
namespace {

// What is done for the first time may have to be compiled, or its data fetched.
constexpr std::uint64_t kFirstSeconds = 3600;
constexpr std::uint64_t kLeastSeconds = 600;
constexpr std::uint64_t kTimesLongest = 20;

}  // namespace

Result<Patience> Patience::make(std::string_view rule) {
  Patience out;
  if (rule == "auto") return out;
  out.is_off_ = rule == "off";
  if (out.is_off_) return out;
  EDL_TRY(const Duration time, parse_duration(rule));
  out.given_ = static_cast<std::uint64_t>(std::max(1.0, seconds(time)));
  return out;
}

void Patience::hurry(Duration grace) {
  if (hurried_) return;
  hurried_ = static_cast<std::uint64_t>(std::max(1.0, seconds(grace)));
  is_off_ = false;
  lasted_ = 0;
}

std::uint64_t Patience::limit() const {
  if (hurried_) return std::max(*hurried_, 2 * longest_.value_or(0));
  if (given_) return *given_;
  return longest_ ? std::max(kLeastSeconds, kTimesLongest * *longest_) : kFirstSeconds;
}

std::optional<Duration> Patience::second(const std::optional<Doing>& doing) {
  if (doing != doing_) {
    if (doing_) longest_ = std::max(longest_.value_or(0), lasted_);
    doing_ = doing;
    lasted_ = 0;
    return std::nullopt;
  }
  if (!doing || is_off_ || ++lasted_ < limit()) return std::nullopt;
  return std::chrono::seconds(lasted_);
}

}  // namespace edl::train
