// SHA-256 of bytes that are all there, or come piece by piece.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "edl/base/bytes.h"

struct evp_md_ctx_st;

namespace edl {

std::array<std::byte, 32> sha256(ConstBytes bytes);

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(ConstBytes bytes);
  // Lower-case hex; ends the hash.
  std::string finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace edl
