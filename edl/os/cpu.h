// What the processor can do.
#pragma once

namespace edl::os {

// Instructions that not every machine has; none of them on other processors than x86.
struct CpuFeatures {
  bool avx2 = false;    // and FMA, which came with it
  bool avx512 = false;  // those of the first servers that had it: F, CD, BW, DQ, VL
};
CpuFeatures cpu_features();

}  // namespace edl::os
