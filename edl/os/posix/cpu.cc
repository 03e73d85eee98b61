#include "edl/os/cpu.h"

namespace edl::os {

CpuFeatures cpu_features() {
  CpuFeatures features;
#if defined(__x86_64__)
  features.avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  features.avx512 =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512cd") != 0 &&
      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0;
#endif
  return features;
}

}  // namespace edl::os
