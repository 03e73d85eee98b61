#include "edl/wire/proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "edl/base/text.h"

namespace edl::wire {

Result<Secret> Secret::make(ConstBytes bytes) {
  if (bytes.size() < kBytesMin || bytes.size() > kBytesMax) {
    return Error{Code::kInvalid, text("a secret of ", bytes.size(), " bytes: it must have ",
                                      kBytesMin, " to ", kBytesMax)};
  }
  return Secret(bytes);
}

Secret::~Secret() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

Digest prove(const Secret& secret, Role role, const Conversation& conversation) {
  const std::string message =
      text(role == Role::kServer ? "edl server 1" : "edl client 1", "\n", conversation.job, "\n",
           conversation.client_id, "\n", conversation.server_id, "\n",
           hex(conversation.client_nonce), "\n", hex(conversation.server_nonce));
  Digest digest{};
  unsigned int length = 0;
  const auto* made =
      HMAC(EVP_sha256(), secret.bytes().data(), static_cast<int>(secret.bytes().size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(),
           reinterpret_cast<unsigned char*>(digest.data()), &length);
  EDL_CHECK(made != nullptr && length == digest.size(), "HMAC-SHA-256 failed");
  return digest;
}

bool NonceBook::use(const Nonce& nonce) {
  if (!used_.insert(nonce).second) return false;
  order_.push_back(nonce);
  if (order_.size() > remembered_max_) {
    used_.erase(order_.front());
    order_.pop_front();
  }
  return true;
}

}  // namespace edl::wire
