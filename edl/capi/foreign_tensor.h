// Tensors of programs in other languages, as DLPack describes them.
#pragma once

#include <optional>
#include <string>

#include "edl/capi/edl.h"
#include "edl/train/trainee.h"

namespace edl::capi {

inline constexpr int kCpu = 1;
enum DlCode : std::uint8_t { kDlInt = 0, kDlUint = 1, kDlFloat = 2, kDlBfloat = 4, kDlBool = 6 };

// What a type of the state is called where it is summed.
std::optional<collective::Element> element_of(checkpoint::Dtype dtype);

// A dense one in the memory of the CPU, where it lies.
Result<train::StateTensor> read_tensor(const std::string& name, const DLTensor& tensor);

}  // namespace edl::capi
