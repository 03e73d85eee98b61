#include "edl/checkpoint/state_hash.h"

#include <algorithm>
#include <array>

#include "edl/base/text.h"

namespace edl::checkpoint {

void StateHash::begin_entry(const std::string& name, Dtype dtype,
                            const std::vector<std::int64_t>& shape) {
  std::string head = text(name, "\n", dtype_name(dtype), "\n");
  for (std::size_t i = 0; i < shape.size(); ++i) head += text(i == 0 ? "" : ",", shape[i]);
  hash_.add(bytes_of(head + "\n"));
}

Result<std::string> state_hash(std::vector<Tensor> entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  StateHash hash;
  for (const Tensor& entry : entries) {
    EDL_TRY(validate(entry));
    hash.begin_entry(entry.name, entry.dtype, entry.shape);
    hash.add(entry.bytes);
  }
  return hash.finish();
}

void StateHash::add_position(const model::Position& position) {
  std::array<std::byte, 24> bytes{};
  store_int(bytes.data(), position.epoch.value());
  store_int(bytes.data() + 8, position.position);
  store_int(bytes.data() + 16, position.step.value());
  begin_entry("position", Dtype::kI64, {3});
  add(bytes);
}

}  // namespace edl::checkpoint
