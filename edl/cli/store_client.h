// What the commands that talk to a store share: their options, and one connection with a loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edl/cli/command_line.h"
#include "edl/os/posix/system.h"
#include "edl/store/client.h"

namespace edl::cli {

struct StoreSettings {
  std::string endpoints = "http://127.0.0.1:2379";
  std::string token_file;
  http::TlsFiles tls;
  Duration timeout = 5s;
};

// A client of a store and the loop it runs on, which runs once: for one `ask`, or for one `run`.
class StoreConnection {
 public:
  static Result<std::unique_ptr<StoreConnection>> make(const StoreSettings& settings);

  os::System& system() { return *system_; }
  store::Client& client() { return *client_; }
  const std::vector<http::Url>& endpoints() const { return endpoints_; }
  Duration timeout() const { return timeout_; }

  template <class Request, class Response>
  Result<Response> ask(os::Pending (store::Client::*call)(const Request&, store::Done<Response>),
                       const Request& request) {
    std::optional<Result<Response>> answer;
    const os::Pending pending = (client_.get()->*call)(request, [&](Result<Response> response) {
      answer = std::move(response);
      system_->finish(0);
    });
    system_->run();
    if (!answer->ok()) return explain(answer->error());
    return std::move(*answer);
  }

  // Runs the loop until `end` is called, and answers what it was called with.
  Result<void> run();
  void end(Result<void> result);
  // Ctrl-C and a polite kill end it as done.
  void end_on_signals();

  // What the client says, with the way out for who typed a command.
  Error explain(const Error& error) const;

 private:
  StoreConnection() = default;
  Result<void> use_tls(const http::TlsFiles& files);

  std::unique_ptr<LogSink> sink_;
  std::unique_ptr<os::PosixSystem> system_;
  std::vector<http::Url> endpoints_;
  Duration timeout_{};
  std::unique_ptr<http::TlsContext> tls_;
  std::unique_ptr<store::Client> client_;
  Result<void> result_;
};

// A command that talks to a store.
class StoreCommand : public Command {
 public:
  Result<void> run(Output& out) final;

 protected:
  explicit StoreCommand(CLI::App& app);
  bool json() const { return json_; }

 private:
  virtual Result<void> answer(StoreConnection& store, Output& out) = 0;

  StoreSettings settings_;
  bool json_ = false;
};

// An option whose value is a whole number from 0 to the largest that the store has.
CLI::Option* add_store_number(CLI::App& app, const std::string& name, std::int64_t& into,
                              const std::string& about);

}  // namespace edl::cli
