// What a command may need of the terminal besides the place for its answer.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "edl/cli/output.h"
#include "edl/data/cache.h"

namespace edl::cli {

struct Console {
  // All of standard input; an error when it is longer than `bytes_max`.
  std::function<Result<std::string>(std::size_t bytes_max)> read_input;
  Output& talk;  // standard error
  // What whoever started us left in the environment: the stream to it, and the part to play.
  int parent_descriptor = -1;
  std::string role{};
  std::vector<std::string> arguments{};  // that the program was called with
  data::CacheEnvironment cache{};
  std::string search_path{};  // where programs are looked for
  std::string blas_core{};    // what OpenBLAS is told to compute for
  bool tunes_memory = false;  // the C library's, for what we start
  std::string python{};       // the interpreter, where a job says none
  std::string memory{};       // that workers may take here; empty: as much as there is
};

}  // namespace edl::cli
