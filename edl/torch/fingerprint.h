// The numeric fingerprint of programs on torch.
#pragma once

#include "edl/model/fingerprint.h"
#include "edl/torch/blas.h"

namespace edl::torch {

// Sets torch to one thread, as every worker has it, and starts none: a process that has made its
// fingerprint can be forked. Takes a few milliseconds.
Result<model::Fingerprint> fingerprint(const Blas& blas);

}  // namespace edl::torch
