// TLS over any stream: OpenSSL on memory buffers, so that it runs in both worlds.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "edl/os/system.h"

namespace edl::http {

struct TlsFiles {
  std::string certificate{};  // PEM path, with its chain; for servers, and clients that show one
  std::string key{};          // PEM path
  std::string authorities{};  // PEM path of whom we trust; empty: the system's
};

class TlsContext {
 public:
  static Result<std::unique_ptr<TlsContext>> for_server(os::Disk& disk, const TlsFiles& files);
  static Result<std::unique_ptr<TlsContext>> for_client(os::Disk& disk, const TlsFiles& files);
  ~TlsContext();
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
