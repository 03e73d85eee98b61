#include "edl/data/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>

namespace edl::data {
namespace {

Bytes zipped(ConstBytes plain) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes out(::deflateBound(&stream, plain.size()) + 64);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

Bytes plain(std::size_t length) {
  Bytes out(length);
  for (std::size_t i = 0; i < length; ++i) out[i] = static_cast<std::byte>(i * i >> 7);
  return out;
}

constexpr std::uint64_t kMax = 8 << 20;

TEST(Gzip, gives_back_what_was_packed) {
  for (const std::size_t length : {0u, 1u, 5000u, 1u << 20, (1u << 20) + 1, 3000000u}) {
    const Bytes packed = zipped(plain(length));
    EXPECT_TRUE(is_gzip(packed));
    EXPECT_EQ(gunzip(packed, kMax).value(), plain(length)) << length;
  }
  EXPECT_FALSE(is_gzip(bytes_of("text")));
}

TEST(Gzip, a_file_may_be_of_several_parts) {
  Bytes packed = zipped(plain(1000));
  const Bytes second = zipped(bytes_of("more"));
  packed.insert(packed.end(), second.begin(), second.end());
  Bytes both = plain(1000);
  std::ranges::copy(bytes_of("more"), std::back_inserter(both));
  EXPECT_EQ(gunzip(packed, kMax).value(), both);
}

TEST(Gzip, more_than_the_limit_is_refused_and_as_much_is_not) {
  const Bytes packed = zipped(Bytes(3000000));
  EXPECT_TRUE(gunzip(packed, 3000000).ok());
  const auto refused = gunzip(packed, 2999999);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kExhausted);
}

TEST(Gzip, damage_and_a_missing_end_are_seen) {
  const Bytes packed = zipped(plain(5000));
  for (const std::size_t length : {std::size_t{2}, packed.size() / 2, packed.size() - 1}) {
    const auto cut = gunzip(ConstBytes(packed).first(length), kMax);
    ASSERT_FALSE(cut.ok());
    EXPECT_EQ(cut.error().code, Code::kCorrupt);
  }
  Bytes damaged = packed;
  damaged[packed.size() / 2] ^= std::byte{1};
  EXPECT_FALSE(gunzip(damaged, kMax).ok());
  Bytes longer = packed;
  longer.push_back(std::byte{'x'});
  EXPECT_FALSE(gunzip(longer, kMax).ok());
}

}  // namespace
}  // namespace edl::data
