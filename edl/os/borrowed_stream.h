// A stream that belongs to somebody else, for those who want one of their own: closing it closes
// that one, destroying it does nothing.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "edl/os/network.h"

namespace edl::os {

class BorrowedStream final : public Stream {
 public:
  explicit BorrowedStream(Stream& stream) : stream_(stream) {}
  void read(ByteSpan into, ReadDone done) override { stream_.read(into, std::move(done)); }
  void write(std::span<const ConstBytes> pieces, WriteDone done) override {
    stream_.write(pieces, std::move(done));
  }
  void close() override { stream_.close(); }
  void send_memory(const Memory& memory, WriteDone done) override {
    stream_.send_memory(memory, std::move(done));
  }
  void receive_memory(MemoryDone done) override { stream_.receive_memory(std::move(done)); }
  std::string peer() const override { return stream_.peer(); }

 private:
  Stream& stream_;
};

}  // namespace edl::os
