#include "edl/data/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "edl/base/text.h"

namespace edl::data {
namespace {

constexpr std::size_t kFirstBytesMin = 4 << 10;
constexpr std::size_t kUsualRatio = 4;  // of plain to packed; a guess for the first memory
constexpr int kGzipOnly = 16 + MAX_WBITS;

class Inflater {
 public:
  Inflater() { EDL_CHECK(::inflateInit2(&stream_, kGzipOnly) == Z_OK, "no memory for zlib"); }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // What zlib answers. What it read and wrote is taken from the front of `in` and `out`.
  int step(ConstBytes& in, ByteSpan& out) {
    // zlib only reads its input, and counts in 32 bits.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream_.avail_in = count(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = count(out.size());
    const uInt in_before = stream_.avail_in;
    const uInt out_before = stream_.avail_out;
    const int answer = ::inflate(&stream_, Z_NO_FLUSH);
    in = in.subspan(in_before - stream_.avail_in);
    out = out.subspan(out_before - stream_.avail_out);
    return answer;
  }
  void begin_part() { EDL_CHECK(::inflateReset(&stream_) == Z_OK); }

 private:
  static uInt count(std::size_t bytes) {
    return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
  }

  z_stream stream_{};
};

}  // namespace

bool is_gzip(ConstBytes file) {
  return file.size() >= 2 && file[0] == std::byte{0x1F} && file[1] == std::byte{0x8B};
}

Result<Bytes> gunzip(ConstBytes file, std::uint64_t bytes_max) {
  Inflater inflater;
  Bytes out;
  std::size_t used = 0;
  std::uint64_t wanted = std::max<std::uint64_t>(file.size() * kUsualRatio, kFirstBytesMin);
  while (true) {
    if (used == out.size()) {
      // One byte above the limit is enough to know that it does not hold.
      out.resize(std::min(wanted, bytes_max + 1));
      wanted *= 2;
    }
    ByteSpan room = ByteSpan(out).subspan(used);
    const int answer = inflater.step(file, room);
    used = out.size() - room.size();
    if (used > bytes_max) {
      return Error{Code::kExhausted,
                   text("holds more than ", bytes_max,
                        " bytes when it is unpacked; unpack it "
                        "with gunzip and use the plain file, which is read where it lies")};
    }
    if (answer == Z_STREAM_END) {
      if (file.empty()) break;
      inflater.begin_part();
    } else if (answer == Z_BUF_ERROR || (answer == Z_OK && file.empty() && !room.empty())) {
      return Error{Code::kCorrupt, "is cut off: its gzip stream has no end"};
    } else if (answer != Z_OK) {
      return Error{Code::kCorrupt, "is damaged: gzip cannot unpack it"};
    }
  }
  out.resize(used);
  return out;
}

}  // namespace edl::data
