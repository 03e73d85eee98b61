// The BLAS that matrix products really go to: the speed and the bits of a program depend on it.
#pragma once

#include <string>

namespace edl::torch {

struct Blas {
  std::string file{};    // the library's; empty: it is part of another one
  std::string config{};  // what OpenBLAS says of itself; empty: it is another BLAS
};

Blas loaded_blas();

// With its version and what it computes for, as far as it tells.
std::string blas_name(const Blas& blas);
// A sentence about one that should not be used; empty when there is nothing to say.
std::string blas_warning(const Blas& blas);

}  // namespace edl::torch
