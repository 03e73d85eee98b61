#include "edl/collective/digest.h"

#include "edl/base/sha256.h"
#include "edl/collective/xxh3.h"
#include "edl/os/cpu.h"

namespace edl::collective {
namespace {

auto* fastest_xxh3() {
  const os::CpuFeatures cpu = os::cpu_features();
  return cpu.avx512 ? xxh3_avx512 : cpu.avx2 ? xxh3_avx2 : xxh3_any;
}

}  // namespace

BlockHash block_hash(ConstBytes block) {
  static auto* const xxh3 = fastest_xxh3();
  BlockHash hash;
  xxh3(block.data(), block.size(), hash.data());
  return hash;
}

model::Digest step_digest(std::span<const BlockHash> hashes) {
  return sha256(std::as_bytes(hashes));
}

model::Digest step_digest(const Layout& layout, ConstBytes reduced) {
  std::vector<BlockHash> hashes;
  for (std::size_t i = 0; i < layout.segments().size(); ++i) {
    const Range range = layout.reduced(i);
    for (std::uint64_t at = 0; at < range.bytes; at += kBlockBytes) {
      const std::uint64_t bytes = std::min(kBlockBytes, range.bytes - at);
      hashes.push_back(block_hash(reduced.subspan(range.offset + at, bytes)));
    }
  }
  return step_digest(hashes);
}

}  // namespace edl::collective
