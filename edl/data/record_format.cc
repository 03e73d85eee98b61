#include "edl/data/record_format.h"

#include <algorithm>
#include <cstring>

#include "edl/base/text.h"

namespace edl::data {
namespace {

using Found = Result<std::optional<Frame>>;

constexpr std::uint64_t kCrcBytes = 4;
constexpr std::uint64_t kTfrecordHead = 8 + kCrcBytes;
constexpr std::uint64_t kLength32Head = 4;

Error broken(std::uint64_t offset, const std::string& what) {
  return {Code::kCorrupt, text("the record at byte ", offset, " ", what)};
}

Found cut_off(std::uint64_t offset, ConstBytes file, Ending ending) {
  if (ending == Ending::kGrows) return std::optional<Frame>();
  return broken(offset, text("is cut off: the file ends at byte ", file.size()));
}

Error too_long(std::uint64_t offset, std::uint64_t bytes, const RecordFormat& format) {
  return broken(offset, text("has ", bytes, " bytes; the limit is ", format.record_bytes_max,
                             " (record_bytes_max). It may be another format"));
}

// `head` bytes stand before the record and `tail` behind it.
Found framed(ConstBytes file, std::uint64_t offset, std::uint64_t length, std::uint64_t head,
             std::uint64_t tail) {
  return std::optional(Frame{.from = offset,
                             .to = offset + head + length + tail,
                             .record = file.subspan(offset + head, length)});
}

Found line_at(ConstBytes file, std::uint64_t offset, const RecordFormat& format, Ending ending) {
  const std::size_t left = file.size() - offset;
  const std::size_t searched = std::min<std::size_t>(left, format.record_bytes_max + 1);
  const void* const end = std::memchr(file.data() + offset, '\n', searched);
  if (end != nullptr) {
    const auto length =
        static_cast<std::uint64_t>(static_cast<const std::byte*>(end) - (file.data() + offset));
    return framed(file, offset, length, 0, 1);
  }
  if (left > format.record_bytes_max) {
    return broken(offset, text("is no line: there is no end of it within ", format.record_bytes_max,
                               " bytes (record_bytes_max)"));
  }
  if (ending == Ending::kGrows) return std::optional<Frame>();
  return framed(file, offset, left, 0, 0);
}

Found fixed_at(ConstBytes file, std::uint64_t offset, const RecordFormat& format, Ending ending) {
  if (file.size() - offset < format.record_bytes) return cut_off(offset, file, ending);
  return framed(file, offset, format.record_bytes, 0, 0);
}

Found tfrecord_at(ConstBytes file, std::uint64_t offset, const RecordFormat& format,
                  Ending ending) {
  const std::uint64_t left = file.size() - offset;
  if (left < kTfrecordHead) return cut_off(offset, file, ending);
  const ConstBytes head = file.subspan(offset, kTfrecordHead);
  const auto length = load_int<std::uint64_t>(head.data());
  if (load_int<std::uint32_t>(head.data() + 8) != masked_crc32c(head.first(8))) {
    return broken(offset,
                  "has a length that does not fit its checksum: the file is damaged, or no "
                  "TFRecord file");
  }
  if (length > format.record_bytes_max) return too_long(offset, length, format);
  if (left < kTfrecordHead + length + kCrcBytes) return cut_off(offset, file, ending);
  return framed(file, offset, length, kTfrecordHead, kCrcBytes);
}

Found length32_at(ConstBytes file, std::uint64_t offset, const RecordFormat& format,
                  Ending ending) {
  const std::uint64_t left = file.size() - offset;
  if (left < kLength32Head) return cut_off(offset, file, ending);
  const auto length = load_int<std::uint32_t>(file.data() + offset);
  if (length > format.record_bytes_max) return too_long(offset, length, format);
  if (left < kLength32Head + length) return cut_off(offset, file, ending);
  return framed(file, offset, length, kLength32Head, 0);
}

}  // namespace

RecordFormat text_lines() { return {}; }
RecordFormat fixed_records(std::uint64_t bytes) {
  return {.kind = RecordKind::kFixed, .record_bytes = bytes};
}
RecordFormat tfrecords() { return {.kind = RecordKind::kTfrecord}; }
RecordFormat length_prefixed() { return {.kind = RecordKind::kLength32}; }

Result<void> validate(const RecordFormat& format) {
  if (format.kind == RecordKind::kFixed && format.record_bytes == 0) {
    return Error{Code::kInvalid, "records of 0 bytes are no records: give record_bytes"};
  }
  if (format.record_bytes_max > 0) return {};
  return Error{Code::kInvalid, "record_bytes_max is 0: no record fits"};
}

Result<std::optional<Frame>> frame_at(ConstBytes file, std::uint64_t offset,
                                      const RecordFormat& format, Ending ending) {
  if (offset > file.size()) {
    return Error{Code::kCorrupt, text("there is no byte ", offset, ": the file has ", file.size(),
                                      ", and must not become shorter")};
  }
  if (offset == file.size()) return std::optional<Frame>();
  switch (format.kind) {
    case RecordKind::kLines:
      return line_at(file, offset, format, ending);
    case RecordKind::kFixed:
      return fixed_at(file, offset, format, ending);
    case RecordKind::kTfrecord:
      return tfrecord_at(file, offset, format, ending);
    case RecordKind::kLength32:
      return length32_at(file, offset, format, ending);
  }
  return std::optional<Frame>();
}

Result<ConstBytes> checked_record(const Frame& frame, ConstBytes file, const RecordFormat& format) {
  if (format.kind != RecordKind::kTfrecord) return frame.record;
  const auto told = load_int<std::uint32_t>(file.data() + frame.to - kCrcBytes);
  if (told == masked_crc32c(frame.record)) return frame.record;
  return broken(frame.from, "does not fit its checksum: the file is damaged");
}

std::uint32_t masked_crc32c(ConstBytes bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8U;
}

}  // namespace edl::data
