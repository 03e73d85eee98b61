#include "edl/torch/blas.h"

#include <string_view>

#include "edl/base/text.h"
#include "edl/os/libraries.h"

namespace edl::torch {
namespace {

bool names(const Blas& blas, std::string_view word) {
  return blas.file.find(word) != std::string::npos;
}

// libblas.so is also what distributions call others, which then lie in a folder of their name.
bool is_reference(const Blas& blas) {
  const std::string_view file = std::string_view(blas.file).substr(blas.file.rfind('/') + 1);
  for (const std::string_view other : {"blis", "atlas", "mkl", "armpl"}) {
    if (names(blas, other)) return false;
  }
  return blas.config.empty() && file.starts_with("libblas.so");
}

}  // namespace

Blas loaded_blas() {
  Blas blas{.file = os::library_with("sgemm_"), .config = ""};
  // Another library may have brought OpenBLAS along without products going there.
  const std::string openblas = os::library_with("openblas_get_config");
  if (openblas.empty() || (openblas != blas.file && !names(blas, "openblas"))) return blas;
  using Config = char*();
  blas.config = reinterpret_cast<Config*>(os::loaded_function("openblas_get_config"))();
  return blas;
}

std::string blas_name(const Blas& blas) {
  if (!blas.config.empty()) return std::string(trim(blas.config));
  if (blas.file.empty()) return "of torch itself";
  if (is_reference(blas)) return text("reference, ", blas.file.substr(blas.file.rfind('/') + 1));
  return blas.file;
}

std::string blas_warning(const Blas& blas) {
  if (is_reference(blas)) {
    return text("Matrix products are computed by the reference BLAS (", blas.file,
                "), ten times slower than need be: install libopenblas0-pthread.");
  }
  if (names(blas, "openblas-serial")) {
    return text("Matrix products are computed by libopenblas0-serial (", blas.file,
                "), which gives wrong numbers when several threads compute, as data threads do: ",
                "install libopenblas0-pthread.");
  }
  return "";
}

}  // namespace edl::torch
