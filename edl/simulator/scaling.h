// What is taken for granted of jobs whose trace says only how long they took: a small share of the
// work does not scale.
#pragma once

#include <memory>

#include "edl/simulator/curve_job.h"

namespace edl::simulator {

inline constexpr double kUsualSerialShare = 0.03;
inline constexpr std::uint32_t kUsualWorkersMax = 64;

// s(k) = k / (1 + serial (k - 1)).
double speed_up(double serial_share, std::uint32_t workers);

// A job that took so many seconds with the workers that it wanted.
struct TimedJob {
  double seconds = 0;
  std::uint32_t wanted = 1;
  std::uint32_t min = 1;
  std::uint32_t max = 1;
  double serial_share = kUsualSerialShare;
};
std::unique_ptr<JobModel> timed_job(const TimedJob& job);
// Elastic from one worker to four times what it wanted.
TimedJob usual_job(double seconds, std::uint32_t wanted);

}  // namespace edl::simulator
