// How the libraries of a program are told to compute, by variables that must be in its environment
// before they are loaded: one thread for each logical worker, and the job's instructions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "edl/model/job.h"
#include "edl/os/cpu.h"

namespace edl::agent {

using Environment = std::vector<std::pair<std::string, std::string>>;

// What OpenBLAS is told to compute for. It does not know processors that came after it, and then
// takes its slowest kernels.
inline constexpr const char* kBlasCoreVariable = "OPENBLAS_CORETYPE";

// `blas_core` is what our own environment says already; it stays under kNative. An error when the
// machine lacks the job's instructions.
Result<Environment> numeric_environment(model::Isa isa, const os::CpuFeatures& cpu,
                                        const std::string& blas_core);

// For programs whose steps take and give back the same large blocks. By default each goes back to
// the kernel, and comes again page by page, zeroed: up to half of a step's time. Blocks up to the
// first size stay with the process, as much of them as the second says; memory comes in huge pages,
// which the C library asks for in its first arena only.
Environment memory_environment();

}  // namespace edl::agent
