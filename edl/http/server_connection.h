// One connection of a server: reads requests, one after the other, and writes the answers. For the
// files of this folder only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "edl/http/buffers.h"
#include "edl/http/encode.h"
#include "edl/http/parser.h"
#include "edl/http/server.h"

namespace edl::http {

// What a server and its connections share. A callback may destroy the server while one of its
// connections is at work, so this lives as long as any of them.
struct ServerShared : std::enable_shared_from_this<ServerShared> {
  ServerShared(os::System& s, ServerOptions o, Server::Serve then)
      : system{s}, options(std::move(o)), serve(std::move(then)), log(s.log().room("http")) {}

  os::System& system;
  const ServerOptions options;
  const Server::Serve serve;
  const Log log;
  std::map<std::uint64_t, std::shared_ptr<ServerConnection>> connections{};
  std::uint64_t next_connection = 0;
};

class ServerConnection : public std::enable_shared_from_this<ServerConnection> {
 public:
  ServerConnection(std::shared_ptr<ServerShared> shared, std::uint64_t number, std::string peer);

  void start(std::unique_ptr<os::Stream> stream);
  void close(std::string_view why);
  const std::string& peer() const { return peer_; }

  // What an Exchange asks for. Those that are not the present one, or whose connection is closed,
  // are not heard.
  bool serves(const Exchange& exchange) const;
  void answer(Response response);
  void begin_answer(int status, Headers headers);
  void send(std::string piece);
  void end_answer();
  std::size_t unsent_bytes() const { return outbox_.bytes(); }
  void on_sent(std::function<void()> sent) { on_sent_ = std::move(sent); }
  void on_gone(const Exchange& exchange, std::function<void()> gone);
  void read_body(std::function<void(std::string_view)> piece);
  void leave(const Exchange& exchange, bool answered);

 private:
  enum class Phase {
    kHandshake,
    kOpen,
    kLinger,  // the last answer is sent; what still comes is dropped, or it would be lost with it
    kClosed,
  };

  // Reading.
  void open(std::unique_ptr<os::Stream> stream);
  void read();
  void advance();
  bool may_parse() const;
  bool parse();
  void take_head();
  void take_body();
  void give_body();
  void serve();
  void at_end();
  void refuse(int status, const std::string& why);
  void linger();

  // Writing.
  void write();
  void written();
  void begin_head(Response& response, Framing framing);
  void finish_exchange();
  void tell_gone();

  // Time.
  Time deadline() const;
  void watch();
  void on_time();

  const std::shared_ptr<ServerShared> shared_;
  const std::uint64_t number_;
  const std::string peer_;
  Phase phase_ = Phase::kHandshake;
  // The stream is declared behind the buffers that it reads into and writes from.
  Inbox inbox_;
  Outbox outbox_;
  std::unique_ptr<os::Stream> stream_;
  os::Pending handshake_;
  bool reading_ = false;
  bool writing_ = false;
  bool at_end_ = false;  // the peer sends nothing more

  // The message that is being read; what is known of it while it is served.
  std::unique_ptr<RequestParser> parser_;
  Request request_;
  bool head_taken_ = false;
  bool is_streamed_ = false;
  bool is_whole_ = false;
  bool is_http_1_0_ = false;
  bool is_head_ = false;

  // The exchange under way.
  bool serving_ = false;
  const Exchange* exchange_ = nullptr;
  bool begun_ = false;
  bool chunked_ = false;
  bool silent_ = false;  // this answer has no body
  bool answered_ = false;
  bool close_after_ = false;
  bool gone_ = false;
  std::string kept_;  // of a streamed body, until somebody reads it
  bool end_given_ = false;
  std::function<void()> on_sent_;
  std::function<void()> on_gone_;
  std::function<void(std::string_view)> on_piece_;

  Time idle_since_;
  Time message_since_{};
  Time write_since_{};
  Time linger_until_{};
  Time alarm_at_ = Time::max();
  os::Pending alarm_;
};

}  // namespace edl::http
