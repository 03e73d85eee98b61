#include "edl/checkpoint/state_hash.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>

#include "edl/base/text.h"

namespace edl::checkpoint {

Result<std::string> state_hash(std::vector<Tensor> entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(),
                                                                     EVP_MD_CTX_free);
  EDL_CHECK(hash != nullptr && EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) == 1);
  for (const Tensor& entry : entries) {
    EDL_TRY(validate(entry));
    std::string head = text(entry.name, "\n", dtype_name(entry.dtype), "\n");
    for (std::size_t i = 0; i < entry.shape.size(); ++i) {
      head += text(i == 0 ? "" : ",", entry.shape[i]);
    }
    head += "\n";
    EVP_DigestUpdate(hash.get(), head.data(), head.size());
    EVP_DigestUpdate(hash.get(), entry.bytes.data(), entry.bytes.size());
  }
  std::array<std::byte, 32> digest{};
  EVP_DigestFinal_ex(hash.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return hex(digest);
}

}  // namespace edl::checkpoint
