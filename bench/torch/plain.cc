// The same training as a loop of its author's, in one process: V parts are computed one after the
// other, their gradients are added, the optimizer takes one step.
//   torch_plain MODEL BATCH V SECONDS [PARTS [tell]]  PARTS of the V only: what one of several does
// Prints steps a second; with `tell` also the time and the number of a step ten times a second.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "bench/torch/models.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  const auto model = edl::bench::measured_model(argc > 4 ? argv[1] : "");
  if (!model.ok()) {
    std::fprintf(stderr, "torch_plain: %s\n", model.error().message.c_str());
    return 2;
  }
  at::set_num_threads(1);
  const std::uint64_t batch = std::stoull(argv[2]);
  const std::uint64_t logical = std::stoull(argv[3]);
  const double limit = std::stod(argv[4]);
  const std::uint64_t parts = argc > 5 ? std::stoull(argv[5]) : logical;
  const bool tells = argc > 6;
  const auto net = model->make();
  const auto optimizer = edl::bench::measured_optimizer(*net);
  const auto data = edl::bench::measured_data(*model);
  std::vector<double> times;
  std::uint64_t at = 0;
  double told = 0;
  const Clock::time_point begin = Clock::now();
  while (seconds_since(begin) < limit) {
    const Clock::time_point step = Clock::now();
    optimizer->zero_grad();
    for (std::uint64_t part = 0; part < parts; ++part) {
      std::vector<std::uint64_t> samples;
      for (std::uint64_t i = 0; i < batch / logical; ++i) samples.push_back(at++ % data->size());
      const auto given = data->batch(samples, {});
      const auto loss =
          torch::nn::functional::cross_entropy(model->forward(*net, given->x), given->y) /
          static_cast<double>(logical);
      loss.backward();
    }
    optimizer->step();
    times.push_back(seconds_since(step));
    if (tells && seconds_since(begin) - told > 0.1) {
      told = seconds_since(begin);
      const auto now = std::chrono::system_clock::now().time_since_epoch();
      std::printf("%.6f %zu\n", std::chrono::duration<double>(now).count(), times.size());
      std::fflush(stdout);
    }
  }
  // The first steps find everything cold.
  const std::size_t cold = times.size() / 5;
  std::sort(times.begin() + static_cast<std::ptrdiff_t>(cold), times.end());
  std::printf("%.6f\n", 1 / times[cold + (times.size() - cold) / 2]);
  return 0;
}
