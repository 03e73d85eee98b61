#include "edl/base/sha256.h"

#include <openssl/evp.h>

namespace edl {
namespace {

// Found once: to look it up by its name costs more than to hash a record.
const EVP_MD* algorithm() {
  static const EVP_MD* const found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  EDL_CHECK(found != nullptr);
  return found;
}

}  // namespace

std::array<std::byte, 32> sha256(ConstBytes bytes) {
  std::array<std::byte, 32> digest{};
  EDL_CHECK(EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()),
                       nullptr, algorithm(), nullptr) == 1);
  return digest;
}

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  EDL_CHECK(context_ != nullptr && EVP_DigestInit_ex(context_.get(), algorithm(), nullptr) == 1);
}
Sha256::~Sha256() = default;

void Sha256::add(ConstBytes bytes) {
  EDL_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::finish() {
  std::array<std::byte, 32> digest{};
  EDL_CHECK(EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()),
                               nullptr) == 1);
  return hex(digest);
}

}  // namespace edl
