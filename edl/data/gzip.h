// Files that were compressed by gzip.
#pragma once

#include "edl/base/bytes.h"

namespace edl::data {

bool is_gzip(ConstBytes file);

// What was compressed, of all parts that the file is made of. kExhausted above `bytes_max`.
Result<Bytes> gunzip(ConstBytes file, std::uint64_t bytes_max);

}  // namespace edl::data
