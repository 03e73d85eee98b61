// XXH3 of 128 bits by vectors of each width that a processor may have. All give the same bits.
// The files that implement it are compiled for other processors than the rest: only declarations
// belong here.
#pragma once

#include <cstddef>

namespace edl::collective {

// Each writes 16 bytes, big-endian as the authors of the hash write them down.
void xxh3_any(const void* data, std::size_t bytes, void* hash);
void xxh3_avx2(const void* data, std::size_t bytes, void* hash);
void xxh3_avx512(const void* data, std::size_t bytes, void* hash);

}  // namespace edl::collective
