#include "edl/collective/digest.h"

#include <xxhash.h>
#ifdef __x86_64__
#include <xxh_x86dispatch.h>  // XXH3_128bits is then the one for this CPU
#endif

#include "edl/base/sha256.h"

namespace edl::collective {

BlockHash block_hash(ConstBytes block) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(block.data(), block.size()));
  BlockHash hash;
  static_assert(sizeof canonical.digest == sizeof hash);
  std::memcpy(hash.data(), canonical.digest, hash.size());
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
