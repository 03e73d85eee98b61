// The programs that are built in: small, without a framework, with their own gradients.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "edl/train/worker_main.h"

namespace edl::train {

// `builtin:mlp` (64-61-10 with tanh) and `builtin:linear` (softmax regression), both on the digits
// with momentum. Arguments: --lr=X; for drills and measurements --work=N (each part is computed N
// times) and --ballast=BYTES (so much more state that is trained along).
Result<WorkerProgram> builtin_program(const std::string& name,
                                      const std::vector<std::string>& args);

}  // namespace edl::train
