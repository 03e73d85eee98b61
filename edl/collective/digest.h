// The digest of a step: what proves that two members have the same reduced bytes. Each block is
// hashed by its owner while it is in cache; the hashes of all blocks, in order, give the digest. It
// does not depend on the number of members.
#pragma once

#include <array>
#include <span>

#include "edl/collective/layout.h"
#include "edl/model/fields.h"

namespace edl::collective {

// XXH3 of 128 bits, big-endian as its authors write it down.
using BlockHash = std::array<std::byte, kBlockHashBytes>;
BlockHash block_hash(ConstBytes block);

// SHA-256 over the hashes.
model::Digest step_digest(std::span<const BlockHash> hashes);
// Of all reduced numbers, by one who has them all.
model::Digest step_digest(const Layout& layout, ConstBytes reduced);

}  // namespace edl::collective
