// Records as files hold them, for tests.
#pragma once

#include <string>

#include "edl/data/record_format.h"

namespace edl::data {

inline std::string number_bytes(std::uint64_t value, std::size_t bytes) {
  std::string out(bytes, '\0');
  std::memcpy(out.data(), &value, bytes);
  return out;
}

inline std::string tfrecord_of(const std::string& record) {
  const std::string length = number_bytes(record.size(), 8);
  return length + number_bytes(masked_crc32c(bytes_of(length)), 4) + record +
         number_bytes(masked_crc32c(bytes_of(record)), 4);
}

inline std::string framed_record(const std::string& record, RecordKind kind) {
  switch (kind) {
    case RecordKind::kLines:
      return record + "\n";
    case RecordKind::kFixed:
      return record;
    case RecordKind::kTfrecord:
      return tfrecord_of(record);
    case RecordKind::kLength32:
      return number_bytes(record.size(), 4) + record;
  }
  return record;
}

}  // namespace edl::data
