#include "edl/http/tls_session.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <limits>

#include "edl/base/check.h"
#include "edl/base/text.h"

namespace edl::http {
namespace {

constexpr std::size_t kBioBytesKept = 4 << 10;

constexpr std::string_view kPlainAnswer =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 41\r\n"
    "Connection: close\r\n\r\nThis port speaks TLS: use https instead.\n";

int length_of(std::size_t bytes) {
  return static_cast<int>(std::min<std::size_t>(bytes, std::numeric_limits<int>::max()));
}

std::string reason_text() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason == nullptr ? "the connection broke" : reason;
}

bool is_address(const std::string& host) {
  ASN1_OCTET_STRING* address = a2i_IPADDRESS(host.c_str());
  ASN1_OCTET_STRING_free(address);
  return address != nullptr;
}

void expect_host(SSL* ssl, const std::string& host) {
  X509_VERIFY_PARAM* rules = SSL_get0_param(ssl);
  if (is_address(host)) {
    EDL_CHECK(X509_VERIFY_PARAM_set1_ip_asc(rules, host.c_str()) == 1);
    return;
  }
  X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  EDL_CHECK(X509_VERIFY_PARAM_set1_host(rules, host.data(), host.size()) == 1);
  SSL_set_tlsext_host_name(ssl, host.c_str());
}

// What is wrong with the peer's certificate, and the way out.
std::string certificate_text(long verdict, const std::string& host) {
  switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "its certificate has expired: renew it, or look at this machine's clock";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "its certificate is not valid yet: look at the clocks of both machines";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return text("its certificate is not for ", host,
                  ": use a name that the certificate has, or make one for this name");
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:  // by another authority of the same name
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return "nobody whom we trust has signed its certificate: add its authority to the trusted "
             "ones";
    default:
      return text("its certificate is refused: ", X509_verify_cert_error_string(verdict));
  }
}

}  // namespace

TlsSession::TlsSession(const TlsContext& context, Options options)
    : options_(std::move(options)), ssl_(SSL_new(context.native()), &SSL_free) {
  EDL_CHECK(ssl_ != nullptr);
  SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  const auto now = std::chrono::floor<std::chrono::seconds>(options_.now.time_since_epoch());
  X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl_.get()), static_cast<time_t>(now.count()));
  if (options_.host.empty()) {
    SSL_set_accept_state(ssl_.get());
  } else {
    SSL_set_connect_state(ssl_.get());
    expect_host(ssl_.get(), options_.host);
  }
}

void TlsSession::feed(ConstBytes sealed) {
  const int length = length_of(sealed.size());
  // A memory BIO keeps what it once needed, so one that was large is replaced when it is empty.
  if (fed_much_ && BIO_ctrl_pending(SSL_get_rbio(ssl_.get())) == 0) {
    SSL_set0_rbio(ssl_.get(), BIO_new(BIO_s_mem()));
  }
  fed_much_ = sealed.size() > kBioBytesKept;
  EDL_CHECK(BIO_write(SSL_get_rbio(ssl_.get()), sealed.data(), length) == length);
}

std::string TlsSession::take_output() {
  BIO* bio = SSL_get_wbio(ssl_.get());
  std::string out(BIO_ctrl_pending(bio), '\0');
  if (!out.empty()) EDL_CHECK(BIO_read(bio, out.data(), length_of(out.size())) > 0);
  if (out.size() > kBioBytesKept) SSL_set0_wbio(ssl_.get(), BIO_new(BIO_s_mem()));
  return out;
}

Result<bool> TlsSession::handshake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_.get());
  if (done == 1) {
    open_ = true;
    return true;
  }
  const int why = SSL_get_error(ssl_.get(), done);
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return false;
  return handshake_error();
}

Error TlsSession::handshake_error() {
  const int reason = ERR_GET_REASON(ERR_peek_last_error());
  const std::string start = text("cannot speak TLS with ", options_.peer, ": ");
  if (const long verdict = SSL_get_verify_result(ssl_.get()); verdict != X509_V_OK) {
    return {Code::kInvalid, start + certificate_text(verdict, options_.host)};
  }
  if (reason == SSL_R_HTTP_REQUEST) {
    BIO_write(SSL_get_wbio(ssl_.get()), kPlainAnswer.data(), length_of(kPlainAnswer.size()));
    return {Code::kInvalid, start + "it spoke plain HTTP; it has to use https"};
  }
  if (!options_.host.empty() &&
      (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_PACKET_LENGTH_TOO_LONG)) {
    return {Code::kInvalid, start + "it does not answer in TLS; perhaps it speaks plain HTTP"};
  }
  return {Code::kUnavailable, start + reason_text()};
}

Result<std::optional<std::size_t>> TlsSession::read(ByteSpan into) {
  ERR_clear_error();
  const int got = SSL_read(ssl_.get(), into.data(), length_of(into.size()));
  if (got > 0) return std::optional(static_cast<std::size_t>(got));
  switch (SSL_get_error(ssl_.get(), got)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return std::optional<std::size_t>();
    case SSL_ERROR_ZERO_RETURN:
      return std::optional(std::size_t{0});
    default:
      open_ = false;
      return Error{Code::kUnavailable, text("read from ", options_.peer, ": ", reason_text())};
  }
}

void TlsSession::write(ConstBytes plain) {
  if (plain.empty() || !open_) return;
  ERR_clear_error();
  const int length = length_of(plain.size());
  // The output has no end, so all of it is taken, unless the session is broken.
  if (SSL_write(ssl_.get(), plain.data(), length) != length) open_ = false;
}

void TlsSession::say_goodbye() {
  ERR_clear_error();
  if (open_) SSL_shutdown(ssl_.get());
  open_ = false;
}

}  // namespace edl::http
