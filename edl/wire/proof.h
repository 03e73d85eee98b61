// The job's secret, and what proves that an end of a connection holds it.
#pragma once

#include <array>
#include <deque>
#include <set>
#include <string>
#include <string_view>

#include "edl/base/bytes.h"
#include "edl/wire/frame.h"

namespace edl::wire {

// Never printed, never sent; wiped when it goes away.
class Secret {
 public:
  static constexpr std::size_t kBytesMin = 16;
  static constexpr std::size_t kBytesMax = 4096;
  // Invalid when it is too short to be one, or absurdly long.
  static Result<Secret> make(ConstBytes bytes);
  ~Secret();
  Secret(const Secret&) = default;
  Secret(Secret&&) = default;
  Secret& operator=(const Secret&) = default;
  Secret& operator=(Secret&&) = default;

  ConstBytes bytes() const { return bytes_; }

 private:
  explicit Secret(ConstBytes bytes) : bytes_(copy_bytes(bytes)) {}
  Bytes bytes_;
};

using Nonce = std::array<std::byte, 32>;
using Digest = std::array<std::byte, 32>;

enum class Role { kClient, kServer };

// Everything that a proof is about.
struct Conversation {
  JobTag job;
  std::string client_id;
  std::string server_id;
  Nonce client_nonce{};
  Nonce server_nonce{};
};

Digest prove(const Secret& secret, Role role, const Conversation& conversation);

// Nonces that were used lately: each is accepted once. The oldest are forgotten.
class NonceBook {
 public:
  explicit NonceBook(std::size_t remembered_max = 65536) : remembered_max_(remembered_max) {}
  // False when it was used before.
  bool use(const Nonce& nonce);

 private:
  std::size_t remembered_max_;
  std::set<Nonce> used_;
  std::deque<Nonce> order_;
};

}  // namespace edl::wire
