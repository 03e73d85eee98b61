// Tensors in a file that every framework reads: safetensors, in one canonical form. The same
// tensors give the same bytes: names sorted, no gaps, no metadata, a header without spaces that is
// padded with spaces to a multiple of 8.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "edl/checkpoint/hashed_file.h"
#include "edl/checkpoint/tensor.h"
#include "edl/os/disk.h"

namespace edl::checkpoint {

// The header with its length before it; the tensors' bytes follow in order of their names. Sorts
// `tensors`. An error when one is not valid, or a name comes twice.
Result<std::string> safetensors_header(std::vector<Tensor>& tensors);

// Where a tensor lies in a file, from the file's beginning.
struct TensorPlace {
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape{};
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Reads a header, of ours or of others (with metadata, in any order); each range is checked
// against the file's length.
Result<std::map<std::string, TensorPlace>> read_safetensors_header(os::File& file);

// Writes the whole file; syncs nothing.
Result<void> write_safetensors(HashedWriter& out, std::vector<Tensor> tensors);

}  // namespace edl::checkpoint
