// TLS over any stream: OpenSSL on memory buffers, so that it runs in both worlds.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "edl/os/system.h"

struct ssl_ctx_st;  // OpenSSL's

namespace edl::http {

struct TlsFiles {
  std::string certificate{};  // PEM path, with its chain; for servers, and clients that show one
  std::string key{};          // PEM path
  std::string authorities{};  // PEM path of whom we trust; empty: the system's
};

class TlsContext {
 public:
  // With `authorities` it demands that clients show a certificate of theirs.
  static Result<std::unique_ptr<TlsContext>> for_server(os::Disk& disk, const TlsFiles& files);
  static Result<std::unique_ptr<TlsContext>> for_client(os::Disk& disk, const TlsFiles& files);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  ssl_ctx_st* native() const { return native_; }

 private:
  explicit TlsContext(ssl_ctx_st* native) : native_(native) {}
  static Result<std::unique_ptr<TlsContext>> make(ssl_ctx_st* native, os::Disk& disk,
                                                  const TlsFiles& files);
  ssl_ctx_st* native_;
};

using TlsDone = std::function<void(Result<std::unique_ptr<os::Stream>>)>;

// The handshake, within `limit`. The client checks the certificate against `host`.
[[nodiscard]] os::Pending accept_tls(os::System& system, const TlsContext& context,
                                     std::unique_ptr<os::Stream> stream, Duration limit,
                                     TlsDone done);
[[nodiscard]] os::Pending connect_tls(os::System& system, const TlsContext& context,
                                      std::unique_ptr<os::Stream> stream, const std::string& host,
                                      Duration limit, TlsDone done);

}  // namespace edl::http
