// How records lie in a file, one behind the other: lines of text, records of one size, or records
// that say their length. Plain functions over bytes (docs/reference/streams.md).
#pragma once

#include <cstdint>
#include <optional>

#include "edl/base/bytes.h"

namespace edl::data {

enum class RecordKind {
  kLines,     // each ends with LF, which is no part of it
  kFixed,     // all of one size
  kTfrecord,  // u64 length, masked CRC-32C of it, bytes, masked CRC-32C of them
  kLength32,  // u32 length, bytes
};

struct RecordFormat {
  RecordKind kind = RecordKind::kLines;
  std::uint64_t record_bytes = 0;  // of kFixed
  std::uint64_t record_bytes_max = std::uint64_t{64} << 20;
};

RecordFormat text_lines();
RecordFormat fixed_records(std::uint64_t bytes);
RecordFormat tfrecords();
RecordFormat length_prefixed();
// Refuses a size or a limit of 0.
Result<void> validate(const RecordFormat& format);

// A record with what stands around it, at bytes [from, to) of its file.
struct Frame {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  ConstBytes record{};
};

// Whether more bytes may come behind those that are there.
enum class Ending { kWhole, kGrows };

// The record that begins at `offset`. Nothing at the end of the bytes, and, where they still grow,
// nothing when it is not whole yet; else that is an error. Lengths are checked, the record's own
// checksum is not: a file is walked through without reading all of it.
Result<std::optional<Frame>> frame_at(ConstBytes file, std::uint64_t offset,
                                      const RecordFormat& format, Ending ending);

// The record once its checksum was found right, where there is one.
Result<ConstBytes> checked_record(const Frame& frame, ConstBytes file, const RecordFormat& format);

// As TFRecord files write a CRC-32C.
std::uint32_t masked_crc32c(ConstBytes bytes);

}  // namespace edl::data
