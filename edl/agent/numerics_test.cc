#include "edl/agent/numerics.h"

#include <gtest/gtest.h>

#include <map>

namespace edl::agent {
namespace {

constexpr os::CpuFeatures kOld{};
constexpr os::CpuFeatures kUsual{.avx2 = true, .avx512 = false};
constexpr os::CpuFeatures kWide{.avx2 = true, .avx512 = true};

std::map<std::string, std::string> variables(model::Isa isa, const os::CpuFeatures& cpu,
                                             const std::string& blas_core = "") {
  const Environment environment = numeric_environment(isa, cpu, blas_core).value();
  return {environment.begin(), environment.end()};
}

TEST(Numerics, every_library_computes_on_one_thread) {
  const auto told = variables(model::Isa::kNative, kUsual);
  EXPECT_EQ(told.at("OMP_NUM_THREADS"), "1");
  EXPECT_EQ(told.at("OPENBLAS_NUM_THREADS"), "1");
}

TEST(Numerics, memory_stays_with_the_process) {
  const Environment environment = memory_environment();
  const std::map<std::string, std::string> told(environment.begin(), environment.end());
  EXPECT_EQ(told.at("MALLOC_ARENA_MAX"), "1");
  EXPECT_EQ(told.at("MALLOC_MMAP_THRESHOLD_"), std::to_string(64 << 20));
  EXPECT_EQ(told.at("MALLOC_TRIM_THRESHOLD_"), std::to_string(256 << 20));
  EXPECT_EQ(told.at("GLIBC_TUNABLES"), "glibc.malloc.hugetlb=1");
}

TEST(Numerics, blas_is_told_the_processor_unless_somebody_did) {
  EXPECT_EQ(variables(model::Isa::kNative, kWide).at(kBlasCoreVariable), "SkylakeX");
  EXPECT_EQ(variables(model::Isa::kNative, kUsual).at(kBlasCoreVariable), "Haswell");
  EXPECT_FALSE(variables(model::Isa::kNative, kOld).contains(kBlasCoreVariable));
  EXPECT_FALSE(variables(model::Isa::kNative, kWide, "Zen").contains(kBlasCoreVariable));
}

TEST(Numerics, native_pins_nothing_else) {
  EXPECT_FALSE(variables(model::Isa::kNative, kWide).contains("ATEN_CPU_CAPABILITY"));
  EXPECT_FALSE(variables(model::Isa::kNative, kWide).contains("DNNL_MAX_CPU_ISA"));
}

TEST(Numerics, avx2_is_the_same_on_every_machine) {
  const auto told = variables(model::Isa::kAvx2, kWide, "SkylakeX");
  EXPECT_EQ(told, variables(model::Isa::kAvx2, kUsual));
  EXPECT_EQ(told.at(kBlasCoreVariable), "Haswell");
  EXPECT_EQ(told.at("ATEN_CPU_CAPABILITY"), "avx2");
  EXPECT_EQ(told.at("DNNL_MAX_CPU_ISA"), "AVX2");
}

TEST(Numerics, a_machine_without_the_jobs_instructions_is_refused) {
  const auto refused = numeric_environment(model::Isa::kAvx2, kOld, "");
  EXPECT_NE(refused.error().message.find("no AVX2"), std::string::npos);
}

}  // namespace
}  // namespace edl::agent
