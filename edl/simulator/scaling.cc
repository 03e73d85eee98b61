#include "edl/simulator/scaling.h"

#include <algorithm>

namespace edl::simulator {

double speed_up(double serial_share, std::uint32_t workers) {
  return workers / (1 + serial_share * (workers - 1.0));
}

std::unique_ptr<JobModel> timed_job(const TimedJob& job) {
  CurveOptions options{.work = job.seconds * speed_up(job.serial_share, job.wanted),
                       .min = job.min,
                       .max = job.max,
                       .wanted = job.wanted};
  for (std::uint32_t k = 1; k < job.max; k *= 2) {
    options.speeds.push_back({k, 1, speed_up(job.serial_share, k)});
  }
  options.speeds.push_back({job.max, 1, speed_up(job.serial_share, job.max)});
  return std::make_unique<CurveJob>(options);
}

TimedJob usual_job(double seconds, std::uint32_t wanted) {
  return {seconds, wanted, 1, std::max(std::min(4 * wanted, kUsualWorkersMax), wanted)};
}

}  // namespace edl::simulator
