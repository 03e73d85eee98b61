// The least value of a smooth function of a few variables within a box: BFGS, where variables that
// press against their bound stay there.
#pragma once

#include <functional>
#include <vector>

namespace edl::scheduler {

struct Box {
  std::vector<double> low{};
  std::vector<double> high{};
};

// The value at x; writes the slope there.
using Function = std::function<double(const std::vector<double>& x, std::vector<double>& slope)>;

std::vector<double> minimise(const Function& function, std::vector<double> start, const Box& box,
                             int steps_max = 200);

}  // namespace edl::scheduler
