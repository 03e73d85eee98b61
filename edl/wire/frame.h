// Frames: what passes between EDL's processes. The format is docs/reference/wire.md.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "edl/base/bytes.h"
#include "edl/base/json.h"
#include "edl/model/ids.h"

namespace edl::wire {

enum class Kind : std::uint8_t {
  kHello = 1,
  kChallenge = 2,
  kProof = 3,
  kWelcome = 4,
  kRefusal = 5,
  kPing = 6,
  kMemory = 7,
  kMapped = 8,
  kTaken = 9,
  kMessage = 16,
  kPlaced = 17,
};
const char* kind_name(Kind kind);

// Tells jobs apart: the first 8 bytes of SHA-256 of the name.
using JobTag = Number<struct JobTagTag>;
JobTag job_tag(std::string_view job_name);

struct Header {
  Kind kind = Kind::kMessage;
  model::Lane lane;
  JobTag job;
  model::Generation generation;
  std::uint32_t type = 0;
  std::uint32_t body_bytes = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint32_t body_crc = 0;
  bool operator==(const Header&) const = default;
};

// Messages of these types carry bulk data: they have no body, and their payload is given in pieces
// as it comes, never gathered.
inline constexpr std::uint32_t kFirstBulkType = 0x8000;
inline bool is_bulk(const Header& header) {
  return header.kind == Kind::kMessage && header.type >= kFirstBulkType;
}

struct Frame {
  Header header;
  Json body;
  Bytes payload;
};

// A run of a bulk frame's payload. The first begins at 0, each where the one before it ended, and
// the last ends at header.payload_bytes; a frame without payload has one piece without bytes.
struct Piece {
  Header header;
  std::uint64_t offset = 0;
  ConstBytes bytes;

  bool is_last() const { return offset + bytes.size() == header.payload_bytes; }
};

struct Limits {
  std::uint32_t body_bytes_max = 1 << 20;
  std::uint64_t payload_bytes_max = std::uint64_t{1} << 30;
};
// Until the secret is proven.
inline constexpr Limits kStrangerLimits{1024, 0};

inline constexpr std::size_t kHeaderBytes = 64;
using HeaderBytes = std::array<std::byte, kHeaderBytes>;

// Corrupt when these first bytes of a header, if only a few, cannot begin a frame.
Result<void> check_beginning(ConstBytes bytes);
HeaderBytes encode(const Header& header);
// Corrupt: not a header. Exhausted: a length above the limits.
Result<Header> decode(const HeaderBytes& bytes, const Limits& limits);

// The body as text, and a header that fits it and the payload.
std::string seal(Header& header, const Json& body, std::size_t payload_bytes);

}  // namespace edl::wire
