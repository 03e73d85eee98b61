#include "edl/wire/frame.h"

#include <algorithm>

#include "edl/base/sha256.h"
#include "edl/base/text.h"

namespace edl::wire {
namespace {

constexpr std::string_view kMagic = "EDLw";
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kCrcAt = 60;

bool known(std::uint8_t kind) { return (kind >= 1 && kind <= 9) || kind == 16 || kind == 17; }

Error corrupt(std::string message) { return {Code::kCorrupt, std::move(message)}; }

}  // namespace

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kHello:
      return "hello";
    case Kind::kChallenge:
      return "challenge";
    case Kind::kProof:
      return "proof";
    case Kind::kWelcome:
      return "welcome";
    case Kind::kRefusal:
      return "refusal";
    case Kind::kPing:
      return "ping";
    case Kind::kMemory:
      return "memory";
    case Kind::kMapped:
      return "mapped";
    case Kind::kTaken:
      return "taken";
    case Kind::kMessage:
      return "message";
    case Kind::kPlaced:
      return "placed";
  }
  return "unknown";
}

JobTag job_tag(std::string_view job_name) {
  return JobTag(load_int<std::uint64_t>(sha256(bytes_of(job_name)).data()));
}

HeaderBytes encode(const Header& header) {
  HeaderBytes bytes{};
  std::byte* at = bytes.data();
  std::copy_n(bytes_of(kMagic).begin(), kMagic.size(), at);
  store_int(at + 4, kVersion);
  store_int(at + 5, static_cast<std::uint8_t>(header.kind));
  store_int(at + 6, header.lane.value());
  store_int(at + 8, header.job.value());
  store_int(at + 16, header.generation.value());
  store_int(at + 24, header.body_bytes);
  store_int(at + 28, header.type);
  store_int(at + 32, header.payload_bytes);
  store_int(at + 40, header.first);
  store_int(at + 48, header.second);
  store_int(at + 56, header.body_crc);
  store_int(at + kCrcAt, crc32c(ConstBytes(bytes).first(kCrcAt)));
  return bytes;
}

Result<void> check_beginning(ConstBytes bytes) {
  const std::string_view begin = text_of(bytes.first(std::min(bytes.size(), kMagic.size())));
  if (!kMagic.starts_with(begin)) return corrupt("not a frame: it does not begin with EDLw");
  return {};
}

Result<Header> decode(const HeaderBytes& bytes, const Limits& limits) {
  EDL_TRY(check_beginning(bytes));
  const std::byte* at = bytes.data();
  const auto version = load_int<std::uint8_t>(at + 4);
  if (version != kVersion) {
    return corrupt(text("a frame of version ", int{version}, ", this is version ", int{kVersion}));
  }
  if (load_int<std::uint32_t>(at + kCrcAt) != crc32c(ConstBytes(bytes).first(kCrcAt))) {
    return corrupt("a frame whose header does not fit its checksum");
  }
  const auto kind = load_int<std::uint8_t>(at + 5);
  if (!known(kind)) return corrupt(text("a frame of unknown kind ", int{kind}));
  Header header;
  header.kind = static_cast<Kind>(kind);
  header.lane = model::Lane(load_int<std::uint16_t>(at + 6));
  header.job = JobTag(load_int<std::uint64_t>(at + 8));
  header.generation = model::Generation(load_int<std::uint64_t>(at + 16));
  header.body_bytes = load_int<std::uint32_t>(at + 24);
  header.type = load_int<std::uint32_t>(at + 28);
  header.payload_bytes = load_int<std::uint64_t>(at + 32);
  header.first = load_int<std::uint64_t>(at + 40);
  header.second = load_int<std::uint64_t>(at + 48);
  header.body_crc = load_int<std::uint32_t>(at + 56);
  if (header.body_bytes > limits.body_bytes_max) {
    return Error{Code::kExhausted, text("a body of ", header.body_bytes, " bytes, the limit is ",
                                        limits.body_bytes_max)};
  }
  if (header.payload_bytes > limits.payload_bytes_max) {
    return Error{Code::kExhausted, text("a payload of ", header.payload_bytes,
                                        " bytes, the limit is ", limits.payload_bytes_max)};
  }
  return header;
}

std::string seal(Header& header, const Json& body, std::size_t payload_bytes) {
  std::string text = body.is_null() ? std::string() : json_line(body);
  header.body_bytes = static_cast<std::uint32_t>(text.size());
  header.body_crc = crc32c(bytes_of(text));
  header.payload_bytes = payload_bytes;
  return text;
}

}  // namespace edl::wire
