#include "edl/agent/numerics.h"

namespace edl::agent {
namespace {

constexpr const char* kKeptBlockBytes = "67108864";
constexpr const char* kKeptBytes = "268435456";

}  // namespace

Environment memory_environment() {
  return {{"MALLOC_ARENA_MAX", "1"},
          {"MALLOC_MMAP_THRESHOLD_", kKeptBlockBytes},
          {"MALLOC_TRIM_THRESHOLD_", kKeptBytes},
          {"GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"}};
}

Result<Environment> numeric_environment(model::Isa isa, const os::CpuFeatures& cpu,
                                        const std::string& blas_core) {
  // A second thread inside an operator gives other bits, and a process that has one cannot be
  // forked.
  Environment out{
      {"OMP_NUM_THREADS", "1"}, {"OPENBLAS_NUM_THREADS", "1"}, {"MKL_NUM_THREADS", "1"}};
  if (isa == model::Isa::kNative) {
    if (!blas_core.empty() || !cpu.avx2) return out;
    out.emplace_back(kBlasCoreVariable, cpu.avx512 ? "SkylakeX" : "Haswell");
    return out;
  }
  if (!cpu.avx2) {
    return Error{Code::kInvalid,
                 "this machine's processor has no AVX2, which the job's numbers are computed with "
                 "(--isa=avx2): use another machine, or start the job with --isa=native"};
  }
  out.emplace_back(kBlasCoreVariable, "Haswell");
  out.emplace_back("ATEN_CPU_CAPABILITY", "avx2");
  out.emplace_back("DNNL_MAX_CPU_ISA", "AVX2");
  out.emplace_back("ONEDNN_MAX_CPU_ISA", "AVX2");  // it goes before the one above
  return out;
}

}  // namespace edl::agent
