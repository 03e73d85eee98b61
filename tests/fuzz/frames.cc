// Bytes, cut anywhere, into the frame parser. What it accepts must come out again as it went in.
#include "edl/base/check.h"
#include "edl/wire/gate.h"
#include "edl/wire/parser.h"
#include "tests/fuzz/input.h"

namespace {

using namespace edl;
using namespace edl::wire;

// A header that passes its checksum, so that what lies behind it is reached too.
Bytes honest_frame(tests::FuzzInput& input) {
  Header header;
  header.generation = model::Generation(input.number());
  header.lane = model::Lane(input.number() % 2);
  header.job = JobTag(input.number() % 2);
  header.type = input.number() % 2 == 0 ? 1 : kFirstBulkType;
  const ConstBytes body = header.type == 1 ? input.piece(input.number()) : ConstBytes();
  const ConstBytes payload = input.piece(input.number());
  header.body_bytes = static_cast<std::uint32_t>(body.size());
  header.body_crc = crc32c(body);
  header.payload_bytes = payload.size();
  const HeaderBytes head = encode(header);
  EDL_CHECK(decode(head, {}).value() == header);
  Bytes out(head.begin(), head.end());
  out.insert(out.end(), body.begin(), body.end());
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tests::FuzzInput input(data, size);
  FrameParser parser({.body_bytes_max = 1000, .payload_bytes_max = 100'000});
  Gate gate(JobTag(1), model::Lane(0), 100'000);
  gate.enter(model::Generation(3));
  std::uint64_t bulk_bytes = 0;  // that came of the bulk frame under way
  while (!input.empty()) {
    Bytes bytes =
        input.number() % 4 == 0 ? copy_bytes(input.piece(input.number())) : honest_frame(input);
    ConstBytes left = bytes;
    while (!left.empty()) {
      const ByteSpan space = parser.space();
      EDL_CHECK(!space.empty());
      const std::size_t length =
          std::min<std::size_t>({left.size(), space.size(), 1u + input.number()});
      std::copy_n(left.begin(), length, space.begin());
      parser.filled(length);
      left = left.subspan(length);
      while (true) {
        auto parsed = parser.next();
        if (!parsed.ok()) return 0;
        if (std::holds_alternative<std::monostate>(*parsed)) break;
        if (const auto* piece = std::get_if<Piece>(&*parsed)) {
          EDL_CHECK(is_bulk(piece->header) && piece->offset == bulk_bytes);
          EDL_CHECK(piece->offset + piece->bytes.size() <= piece->header.payload_bytes);
          bulk_bytes = piece->is_last() ? 0 : bulk_bytes + piece->bytes.size();
          continue;
        }
        Frame& frame = std::get<Frame>(*parsed);
        EDL_CHECK(!is_bulk(frame.header) && bulk_bytes == 0);
        EDL_CHECK(frame.payload.size() == frame.header.payload_bytes);
        const auto seen = gate.admit(std::move(frame));
        if (!seen.ok()) return 0;
        for (const Frame& shown : *seen) {
          EDL_CHECK(shown.header.generation.value() == 0 || shown.header.generation.value() == 3);
        }
      }
    }
  }
  return 0;
}
