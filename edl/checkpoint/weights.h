// Weights from a safetensors file of anybody: what a job may begin with instead of what its program
// draws. The file is the one that the job named once: its hash is part of the job.
#pragma once

#include <span>
#include <string>

#include "edl/checkpoint/reader.h"

namespace edl::checkpoint {

// Of a file whose header can be read as safetensors.
Result<std::string> hash_weights(os::Disk& disk, const std::string& path);

// Fills the tensors called `model/NAME` from those called NAME in the file, and leaves the others
// alone. Names, types and shapes must be exactly those of the program; nothing is filled when they
// are not, or when the file has another hash: kInvalid with a sentence that names the difference.
Result<void> load_weights(os::Disk& disk, const std::string& path, const std::string& sha256,
                          std::span<const TensorPlaceholder> into);

}  // namespace edl::checkpoint
