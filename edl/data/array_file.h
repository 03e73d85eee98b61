// Arrays from files. The bytes stay in the file and are read where they lie; only what was
// compressed or is text is unpacked into memory. Errors name the file.
#pragma once

#include <string>

#include "edl/data/array.h"
#include "edl/data/csv.h"

namespace edl::data {

constexpr std::uint64_t kUnpackedBytesMax = std::uint64_t{4} << 30;

// These three may be compressed by gzip.
Result<Array> idx_file(const std::string& path);
Result<Array> npy_file(const std::string& path);
Result<Array> csv_file(const std::string& path, const CsvOptions& options = {});

// Little-endian numbers and nothing else, exactly as many as the shape says.
Result<Array> raw_file(const std::string& path, Dtype dtype, Shape shape);
// All bytes of a file, of text for example.
Result<Array> bytes_file(const std::string& path);

}  // namespace edl::data
