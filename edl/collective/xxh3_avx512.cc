#define XXH_INLINE_ALL
#include <xxhash.h>

#include "edl/collective/xxh3.h"

namespace edl::collective {

void xxh3_avx512(const void* data, std::size_t bytes, void* hash) {
  XXH128_canonicalFromHash(static_cast<XXH128_canonical_t*>(hash), XXH3_128bits(data, bytes));
}

}  // namespace edl::collective
