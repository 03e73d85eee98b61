#include "edl/http/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "edl/base/text.h"

namespace edl::http {
namespace {

constexpr std::uint64_t kPemBytesMax = 4 << 20;

using Pem = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

// Never asks a person.
int no_password(char*, int, int, void*) { return -1; }

Error wrong_file(const std::string& path, std::string_view what) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return {Code::kInvalid,
          text(path, " ", what, reason == nullptr ? "" : ": ", reason == nullptr ? "" : reason)};
}

Pem open_pem(const Bytes& bytes) {
  return {BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())), &BIO_free};
}

// Each certificate of the file; answers how many.
template <class Use>
Result<int> each_certificate(os::Disk& disk, const std::string& path, const Use& use) {
  EDL_TRY(const Bytes bytes, os::read_file(disk, path, kPemBytesMax));
  const Pem pem = open_pem(bytes);
  int count = 0;
  while (true) {
    Certificate certificate(PEM_read_bio_X509(pem.get(), nullptr, &no_password, nullptr),
                            &X509_free);
    if (!certificate) break;
    if (!use(std::move(certificate), count)) return wrong_file(path, "cannot be used");
    ++count;
  }
  if (count == 0) return wrong_file(path, "has no certificate in PEM form");
  ERR_clear_error();  // of the read that found no more
  return count;
}

Result<void> show_certificate(SSL_CTX* context, os::Disk& disk, const TlsFiles& files) {
  const auto use = [context](Certificate certificate, int count) {
    if (count == 0) return SSL_CTX_use_certificate(context, certificate.get()) == 1;
    return SSL_CTX_add0_chain_cert(context, certificate.release()) == 1;
  };
  EDL_TRY(each_certificate(disk, files.certificate, use));
  EDL_TRY(const Bytes bytes, os::read_file(disk, files.key, kPemBytesMax));
  const Pem pem = open_pem(bytes);
  const Key key(PEM_read_bio_PrivateKey(pem.get(), nullptr, &no_password, nullptr), &EVP_PKEY_free);
  if (!key) return wrong_file(files.key, "has no private key in PEM form without a password");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return wrong_file(files.key, text("does not belong to ", files.certificate));
  }
  return {};
}

Result<void> trust(SSL_CTX* context, os::Disk& disk, const std::string& authorities) {
  if (authorities.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) == 1) return {};
    return wrong_file("the system's list of certificate authorities", "cannot be read");
  }
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  const auto use = [store](const Certificate& certificate, int) {
    return X509_STORE_add_cert(store, certificate.get()) == 1;
  };
  EDL_TRY(each_certificate(disk, authorities, use));
  return {};
}

}  // namespace

TlsContext::~TlsContext() { SSL_CTX_free(native_); }

Result<std::unique_ptr<TlsContext>> TlsContext::make(SSL_CTX* native, os::Disk& disk,
                                                     const TlsFiles& files) {
  EDL_CHECK(native != nullptr);
  std::unique_ptr<TlsContext> context(new TlsContext(native));
  EDL_CHECK(SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION) == 1);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(native, 0);
  if (!files.certificate.empty()) EDL_TRY(show_certificate(native, disk, files));
  return context;
}

Result<std::unique_ptr<TlsContext>> TlsContext::for_server(os::Disk& disk, const TlsFiles& files) {
  if (files.certificate.empty() || files.key.empty()) {
    return Error{Code::kInvalid, "a TLS server needs a certificate and its key: name both files"};
  }
  EDL_TRY(auto context, make(SSL_CTX_new(TLS_server_method()), disk, files));
  if (!files.authorities.empty()) {
    EDL_TRY(trust(context->native_, disk, files.authorities));
    SSL_CTX_set_verify(context->native_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                       nullptr);
  }
  return context;
}

Result<std::unique_ptr<TlsContext>> TlsContext::for_client(os::Disk& disk, const TlsFiles& files) {
  if (files.certificate.empty() != files.key.empty()) {
    return Error{Code::kInvalid, "a TLS client shows a certificate with its key: name both files"};
  }
  EDL_TRY(auto context, make(SSL_CTX_new(TLS_client_method()), disk, files));
  EDL_TRY(trust(context->native_, disk, files.authorities));
  SSL_CTX_set_verify(context->native_, SSL_VERIFY_PEER, nullptr);
  return context;
}

}  // namespace edl::http
