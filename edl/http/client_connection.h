// One connection of a client: exchanges on it, one after the other. For the files of this folder
// only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "edl/http/buffers.h"
#include "edl/http/parser.h"
#include "edl/os/system.h"

namespace edl::http {

// What happens in an exchange, in this order. Each call may destroy the connection.
struct ClientEvents {
  std::function<void(Response head)> on_head;
  std::function<void(std::string piece)> on_piece;
  std::function<void(Result<void>)> on_end;
};

class ClientConnection {
 public:
  ClientConnection(os::System& system, std::unique_ptr<os::Stream> stream, const Limits& limits);
  ~ClientConnection() { *alive_ = false; }
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  // `without_body`: the request is a HEAD.
  void begin(Outbox request, bool without_body, ClientEvents events);
  // More of the request; `write` when all that is at hand was added.
  Outbox& outbox() { return outbox_; }
  void write();

  // After the end: whether another exchange can follow on this connection.
  bool reusable() const;
  // Waits for the next exchange. Called back when the connection is of no use any more.
  void rest(std::function<void()> lost);

  // Nothing of the request was taken by the network, nor was anything answered.
  bool untouched() const { return !wrote_ && !heard_; }
  // The request of an untouched connection, for another one.
  Outbox take_request();

 private:
  void read();
  void advance();
  bool parse();
  void take_head();
  void written(const Result<void>& done);
  void broken(const Error& error);
  void end(Result<void> result);
  void watch_writing();

  os::System& system_;
  const Limits limits_;
  Inbox inbox_;
  Outbox outbox_;
  std::unique_ptr<os::Stream> stream_;  // behind the buffers that it uses
  bool reading_ = false;
  bool writing_ = false;
  bool at_end_ = false;
  std::unique_ptr<ResponseParser> parser_;  // while there is an exchange
  bool without_body_ = false;
  bool head_taken_ = false;
  bool heard_ = false;
  bool wrote_ = false;
  bool keep_alive_ = false;
  std::optional<Error> broken_;
  ClientEvents events_;
  std::function<void()> lost_;
  Time write_since_{};
  bool watching_ = false;
  os::Pending alarm_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace edl::http
