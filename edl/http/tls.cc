#include "edl/http/tls.h"

namespace edl::http {

TlsContext::~TlsContext() = default;

os::Pending accept_tls(os::System& system, const TlsContext&, std::unique_ptr<os::Stream>, Duration,
                       TlsDone done) {
  system.post([done = std::move(done)] { done(Error{Code::kUnavailable, "no TLS yet"}); });
  return {};
}

os::Pending connect_tls(os::System& system, const TlsContext&, std::unique_ptr<os::Stream>,
                        const std::string&, Duration, TlsDone done) {
  system.post([done = std::move(done)] { done(Error{Code::kUnavailable, "no TLS yet"}); });
  return {};
}

}  // namespace edl::http
