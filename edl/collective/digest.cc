#include "edl/collective/digest.h"

#include <openssl/sha.h>

#include <xxhash.h>
#ifdef __x86_64__
#include <xxh_x86dispatch.h>  // XXH3_128bits is then the one for this CPU
#endif

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
  model::Digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(hashes.data()), hashes.size_bytes(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

}  // namespace edl::collective
