// The bytes that wait at one end of a connection: to be understood, and to be written.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "edl/base/bytes.h"

namespace edl::http {

// Bytes that were read and not yet understood. Small while little comes, larger while much does.
class Inbox {
 public:
  // Where to read into; empty when `bytes_max` are waiting already.
  ByteSpan space(std::size_t bytes_max);
  void filled(std::size_t bytes);
  ConstBytes bytes() const { return ConstBytes(buffer_).subspan(first_, last_ - first_); }
  void taken(std::size_t bytes);
  // Gives memory back, unless much is waiting. Not while a read is under way.
  void shrink();

 private:
  void move_into(std::size_t size);

  Bytes buffer_;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
  bool was_full_ = false;
};

// Bytes that wait to be written. Large pieces are kept as they are, small ones are put together.
class Outbox {
 public:
  void add(std::string piece);
  void add_chunk(std::string piece);

  bool empty() const { return pieces_.empty(); }
  std::size_t bytes() const { return bytes_; }

  // For one write: at most Stream::kPiecesMax pieces, and not so much that it could be taken for
  // a standstill on a slow line. They stay valid, whatever is added, until `written`.
  std::vector<ConstBytes> next();
  void written();
  // After a first write that failed: all is to be written again.
  void rewind() { under_way_ = bytes_under_way_ = 0; }

 private:
  std::list<std::string> pieces_;  // a list: what is being written does not move
  std::size_t bytes_ = 0;
  std::size_t front_written_ = 0;  // of the first piece
  std::size_t under_way_ = 0;      // pieces
  std::size_t bytes_under_way_ = 0;
};

}  // namespace edl::http
