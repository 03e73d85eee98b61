#include "edl/wire/frame.h"

#include <gtest/gtest.h>

#include "edl/base/random.h"
#include "edl/base/text.h"
#include "edl/wire/parser.h"

namespace edl::wire {
namespace {

Header sample_header() {
  Header header;
  header.kind = Kind::kMessage;
  header.lane = model::Lane(3);
  header.job = job_tag("job");
  header.generation = model::Generation(77);
  header.type = 5;
  header.first = 1'000'000'007;
  header.second = ~std::uint64_t{0};
  return header;
}

Bytes wire_bytes(Header header, const Json& body, ConstBytes payload) {
  const std::string text = seal(header, body, payload.size());
  const HeaderBytes head = encode(header);
  Bytes out(head.begin(), head.end());
  const ConstBytes text_bytes = bytes_of(text);
  out.insert(out.end(), text_bytes.begin(), text_bytes.end());
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

// Feeds bytes in pieces of at most `piece`; answers the frames, or the error.
Result<std::vector<Frame>> parse(ConstBytes bytes, std::size_t piece, const Limits& limits = {}) {
  FrameParser parser(limits);
  std::vector<Frame> frames;
  while (true) {
    EDL_TRY(auto parsed, parser.next());
    if (auto* frame = std::get_if<Frame>(&parsed)) {
      frames.push_back(std::move(*frame));
      continue;
    }
    if (const auto* one = std::get_if<Piece>(&parsed)) {  // gathered, to compare
      if (one->offset == 0) frames.push_back({one->header, nullptr, {}});
      EXPECT_EQ(frames.back().payload.size(), one->offset);
      frames.back().payload.insert(frames.back().payload.end(), one->bytes.begin(),
                                   one->bytes.end());
      continue;
    }
    if (bytes.empty()) return frames;
    const ByteSpan space = parser.space();
    const std::size_t length = std::min({piece, space.size(), bytes.size()});
    std::copy_n(bytes.begin(), length, space.begin());
    parser.filled(length);
    bytes = bytes.subspan(length);
  }
}

TEST(Frame, the_layout_is_the_documented_one) {
  Header header = sample_header();
  const Bytes bytes = wire_bytes(header, {{"a", 1}}, bytes_of("xyz"));
  ASSERT_EQ(bytes.size(), 64u + 7 + 3);
  EXPECT_EQ(text_of(ConstBytes(bytes).first(4)), "EDLw");
  EXPECT_EQ(load_int<std::uint8_t>(&bytes[4]), 1);
  EXPECT_EQ(load_int<std::uint8_t>(&bytes[5]), 16);
  EXPECT_EQ(load_int<std::uint16_t>(&bytes[6]), 3);
  EXPECT_EQ(load_int<std::uint64_t>(&bytes[16]), 77u);
  EXPECT_EQ(load_int<std::uint32_t>(&bytes[24]), 7u);
  EXPECT_EQ(load_int<std::uint32_t>(&bytes[28]), 5u);
  EXPECT_EQ(load_int<std::uint64_t>(&bytes[32]), 3u);
  EXPECT_EQ(load_int<std::uint64_t>(&bytes[40]), 1'000'000'007u);
  EXPECT_EQ(load_int<std::uint32_t>(&bytes[56]), crc32c(bytes_of("{\"a\":1}")));
  EXPECT_EQ(load_int<std::uint32_t>(&bytes[60]), crc32c(ConstBytes(bytes).first(60)));
  // First 8 bytes of SHA-256("job"), from another implementation.
  EXPECT_EQ(hex(ConstBytes(bytes).subspan(8, 8)), "5e8c9902207afaeb");
}

TEST(Frame, comes_back_as_it_was_however_it_is_cut) {
  Random random(4);
  Bytes all;
  std::vector<Bytes> payloads;
  for (int i = 0; i < 40; ++i) {
    const std::size_t length = i % 3 == 0 ? 0 : random.below(i == 10 ? 9'000'000 : 2000);
    Bytes payload(length);
    for (std::byte& byte : payload) byte = static_cast<std::byte>(random.next());
    const Json body =
        i % 4 == 0 ? Json(nullptr) : Json{{"i", i}, {"pad", std::string(random.below(300), 'p')}};
    const Bytes bytes = wire_bytes(sample_header(), body, payload);
    all.insert(all.end(), bytes.begin(), bytes.end());
    payloads.push_back(std::move(payload));
  }
  for (const std::size_t piece : {std::size_t{97}, std::size_t{5000}, all.size()}) {
    const auto frames = parse(all, piece);
    ASSERT_TRUE(frames.ok()) << frames.error().message;
    ASSERT_EQ(frames->size(), payloads.size());
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      EXPECT_TRUE((*frames)[i].payload == payloads[i]) << i;
      EXPECT_EQ((*frames)[i].header.generation, model::Generation(77));
      if (i % 4 != 0) {
        EXPECT_EQ((*frames)[i].body["i"], static_cast<int>(i));
      }
    }
  }
}

TEST(Frame, bulk_frames_come_in_pieces_between_others) {
  Random random(5);
  Bytes all;
  std::vector<Bytes> payloads;
  for (int i = 0; i < 60; ++i) {
    Header header = sample_header();
    header.type = i % 2 == 0 ? kFirstBulkType + 1 : 5;
    Bytes payload(i % 10 == 0 ? 0 : random.below(i == 8 ? 1'000'000 : 3000));
    for (std::byte& byte : payload) byte = static_cast<std::byte>(random.next());
    const Bytes bytes = wire_bytes(header, nullptr, payload);
    all.insert(all.end(), bytes.begin(), bytes.end());
    payloads.push_back(std::move(payload));
  }
  for (const std::size_t piece : {std::size_t{1}, std::size_t{97}, std::size_t{5000}, all.size()}) {
    const auto frames = parse(all, piece);
    ASSERT_TRUE(frames.ok()) << frames.error().message;
    ASSERT_EQ(frames->size(), payloads.size());
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      EXPECT_TRUE((*frames)[i].payload == payloads[i]) << i;
      EXPECT_EQ(is_bulk((*frames)[i].header), i % 2 == 0);
    }
  }
  Header header = sample_header();
  header.type = kFirstBulkType;
  EXPECT_EQ(parse(wire_bytes(header, {{"a", 1}}, {}), 1000).error().message,
            "a bulk frame with a body");
}

TEST(Frame, a_flipped_bit_in_header_or_body_is_found) {
  const Bytes good = wire_bytes(sample_header(), {{"a", 1}}, {});
  ASSERT_TRUE(parse(good, 1000).ok());
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bad = good;
      bad[at] ^= static_cast<std::byte>(1 << bit);
      const auto frames = parse(bad, 1000);
      EXPECT_FALSE(frames.ok()) << "byte " << at << " bit " << bit;
    }
  }
}

TEST(Frame, lengths_above_the_limits_are_refused_before_any_memory_is_taken) {
  const auto error = [](std::uint32_t body, std::uint64_t payload) {
    Header header = sample_header();
    header.body_bytes = body;
    header.payload_bytes = payload;
    return decode(encode(header), Limits{100, 1000});
  };
  EXPECT_TRUE(error(100, 1000).ok());
  EXPECT_EQ(error(101, 0).error().code, Code::kExhausted);
  EXPECT_EQ(error(0, 1001).error().message, "a payload of 1001 bytes, the limit is 1000");
  EXPECT_EQ(error(0, ~std::uint64_t{0}).error().code, Code::kExhausted);
}

TEST(Frame, versions_and_kinds_that_we_do_not_know_are_refused) {
  HeaderBytes bytes = encode(sample_header());
  bytes[4] = std::byte{2};
  EXPECT_EQ(decode(bytes, {}).error().message, "a frame of version 2, this is version 1");
  Header header = sample_header();
  header.kind = static_cast<Kind>(10);
  EXPECT_EQ(decode(encode(header), {}).error().message, "a frame of unknown kind 10");
}

TEST(Frame, a_body_that_is_not_json_or_too_deep_is_refused) {
  for (const std::string& body : {std::string("{"), std::string(40, '[') + std::string(40, ']')}) {
    Header header = sample_header();
    header.body_bytes = static_cast<std::uint32_t>(body.size());
    header.body_crc = crc32c(bytes_of(body));
    const HeaderBytes head = encode(header);
    Bytes bytes(head.begin(), head.end());
    const ConstBytes text_bytes = bytes_of(body);
    bytes.insert(bytes.end(), text_bytes.begin(), text_bytes.end());
    EXPECT_FALSE(parse(bytes, 1000).ok()) << body;
  }
}

}  // namespace
}  // namespace edl::wire
