// One TLS connection as bytes in and bytes out; for the files of this folder only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "edl/base/bytes.h"
#include "edl/base/time.h"
#include "edl/http/tls.h"

struct ssl_st;  // OpenSSL's

namespace edl::http {

class TlsSession {
 public:
  struct Options {
    std::string peer;  // for messages
    std::string host;  // whom the client wants to see; empty for a server
    WallTime now;      // certificates are judged by it
  };
  TlsSession(const TlsContext& context, Options options);

  // What came from the network, and what is to be sent there.
  void feed(ConstBytes sealed);
  std::string take_output();

  // True when it is done, false when more has to come.
  Result<bool> handshake();
  // How many bytes; 0 when the peer ended TLS; nothing when more has to come.
  Result<std::optional<std::size_t>> read(ByteSpan into);
  void write(ConstBytes plain);
  bool is_open() const { return open_; }
  void say_goodbye();

 private:
  Error handshake_error();

  const Options options_;
  std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;
  bool open_ = false;
  bool fed_much_ = false;
};

}  // namespace edl::http
