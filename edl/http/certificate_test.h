// For tests: an authority, and certificates that it signed, made by OpenSSL.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <string>

#include "edl/base/check.h"
#include "edl/base/time.h"

namespace edl::http {

inline std::string text_of_bio(BIO* bio) {
  char* data = nullptr;
  const long length = BIO_get_mem_data(bio, &data);
  std::string out(data, static_cast<std::size_t>(length));
  BIO_free(bio);
  return out;
}

class TestIdentity {
 public:
  struct Options {
    std::string name;      // "DNS:a.example,IP:127.0.0.1"; empty for an authority
    Duration valid = 24h;  // counted from an hour before `now`
    WallTime now;
    const TestIdentity* signer = nullptr;  // itself when null
  };
  explicit TestIdentity(const Options& options)
      : key_(EVP_EC_gen("P-256")), certificate_(X509_new()) {
    X509_set_version(certificate_, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate_), ++last_serial);
    const auto now = std::chrono::floor<std::chrono::seconds>(options.now.time_since_epoch());
    const auto begin = now - std::chrono::hours(1);
    const auto end = begin + std::chrono::floor<std::chrono::seconds>(options.valid);
    ASN1_TIME_set(X509_getm_notBefore(certificate_), static_cast<time_t>(begin.count()));
    ASN1_TIME_set(X509_getm_notAfter(certificate_), static_cast<time_t>(end.count()));
    const std::string subject = options.name.empty() ? "authority" : "server";
    X509_NAME* name = X509_get_subject_name(certificate_);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(subject.c_str()), -1, -1, 0);
    const TestIdentity& signer = options.signer == nullptr ? *this : *options.signer;
    X509_set_issuer_name(certificate_, X509_get_subject_name(signer.certificate_));
    X509_set_pubkey(certificate_, key_);
    if (options.name.empty()) {
      extend(NID_basic_constraints, "critical,CA:TRUE");
    } else {
      extend(NID_subject_alt_name, options.name);
    }
    EDL_CHECK(X509_sign(certificate_, signer.key_, EVP_sha256()) > 0);
  }
  ~TestIdentity() {
    X509_free(certificate_);
    EVP_PKEY_free(key_);
  }
  TestIdentity(const TestIdentity&) = delete;
  TestIdentity& operator=(const TestIdentity&) = delete;

  std::string certificate_pem() const {
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(bio, certificate_);
    return text_of_bio(bio);
  }
  std::string key_pem() const {
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, key_, nullptr, nullptr, 0, nullptr, nullptr);
    return text_of_bio(bio);
  }

 private:
  void extend(int kind, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
    EDL_CHECK(extension != nullptr);
    X509_add_ext(certificate_, extension, -1);
    X509_EXTENSION_free(extension);
  }

  inline static int last_serial = 0;
  EVP_PKEY* key_;
  X509* certificate_;
};

}  // namespace edl::http
