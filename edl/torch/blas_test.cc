#include "edl/torch/blas.h"

#include <gtest/gtest.h>

namespace edl::torch {
namespace {

constexpr const char* kFolder = "/usr/lib/x86_64-linux-gnu/";

Blas blas(const std::string& file, const std::string& config = "") {
  return {kFolder + file, config};
}

TEST(Blas, the_one_that_is_loaded_has_a_file_or_is_part_of_torch) {
  const Blas loaded = loaded_blas();
  EXPECT_NE(blas_name(loaded), "");
  EXPECT_EQ(loaded.config.empty(), loaded.file.find("openblas") == std::string::npos);
}

TEST(Blas, openblas_is_named_by_its_version_and_core) {
  const Blas loaded = blas("openblas-pthread/libblas.so.3", "OpenBLAS 0.3.21 Haswell ");
  EXPECT_EQ(blas_name(loaded), "OpenBLAS 0.3.21 Haswell");
  EXPECT_EQ(blas_warning(loaded), "");
}

TEST(Blas, the_reference_is_warned_of) {
  const Blas slow = blas("blas/libblas.so.3.11.0");
  EXPECT_EQ(blas_name(slow), "reference, libblas.so.3.11.0");
  EXPECT_NE(blas_warning(slow).find("libopenblas0-pthread"), std::string::npos);
  EXPECT_NE(blas_warning(slow).find(slow.file), std::string::npos);
}

TEST(Blas, the_serial_one_is_warned_of) {
  const Blas serial = blas("openblas-serial/libblas.so.3", "OpenBLAS 0.3.21 SINGLE_THREADED");
  EXPECT_NE(blas_warning(serial).find("wrong numbers"), std::string::npos);
}

TEST(Blas, others_are_left_alone) {
  for (const char* file : {"blis-pthread/libblas.so.3", "atlas/libblas.so.3", "libmkl_rt.so.2"}) {
    EXPECT_EQ(blas_warning(blas(file)), "") << file;
  }
  EXPECT_EQ(blas_warning({}), "");
  EXPECT_EQ(blas_name({}), "of torch itself");
}

}  // namespace
}  // namespace edl::torch
