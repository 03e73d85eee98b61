// The outer side of a fork server: asks it for children and keeps watch over them.
#include <sys/socket.h>

#include <cerrno>
#include <deque>
#include <map>

#include "edl/base/text.h"
#include "edl/os/posix/child.h"
#include "edl/os/posix/fork_message.h"
#include "edl/os/posix/packet.h"
#include "edl/os/posix/parts.h"

namespace edl::os {
namespace {

namespace asio = boost::asio;

struct Request {
  Descriptor stream;  // our end of the child's socket
  ForkDone done;
  ExitDone exited;
};

struct State : std::enable_shared_from_this<State> {
  State(asio::io_context& l, Started started)
      : loop(l), socket(l, started.socket.release()), server_pid(started.pid) {
    socket.native_non_blocking(true);
  }

  void listen() {
    socket.async_wait(asio::posix::stream_descriptor::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& failed) {
                        if (!failed) self->take_answers();
                      });
  }

  void take_answers() {
    while (alive) {
      auto packet = receive_packet(socket.native_handle(), sizeof(ForkAnswer));
      if (!packet.ok() && packet.error().code == Code::kConflict) return listen();
      if (!packet.ok() || packet->bytes.size() != sizeof(ForkAnswer)) return lose_server();
      take(load_int<ForkAnswer>(packet->bytes.data()), std::move(packet->descriptors));
    }
  }

  void take(const ForkAnswer& answer, std::vector<Descriptor> descriptors) {
    if (answer.event == ForkEvent::kExited) {
      const auto found = children.find(answer.pid);
      if (found == children.end()) return;
      const auto watch = found->second;
      children.erase(found);
      return watch->report({answer.code, answer.signal});
    }
    if (requests.empty()) return lose_server();
    Request request = std::move(requests.front());
    requests.pop_front();
    if (answer.event == ForkEvent::kForked && descriptors.size() == 1) {
      auto watch =
          std::make_shared<ExitWatch>(loop, std::move(descriptors[0]), std::move(request.exited));
      children[answer.pid] = watch;
      auto stream = posix_stream(loop, std::move(request.stream), text("process ", answer.pid));
      return request.done(std::unique_ptr<Child>(
          std::make_unique<PosixChild>(answer.pid, std::move(watch), std::move(stream))));
    }
    const Error refused =
        answer.code > 0
            ? Error{Code::kUnavailable, text("cannot fork from process ", server_pid, ": it has ",
                                             answer.code, " threads and must have one")}
            : os_error(answer.signal, text("fork from process ", server_pid));
    request.done(refused);
  }

  // Nobody wants more children. The server sees its end and exits; until then it may still tell
  // of exits.
  void leave() {
    for (Request& request : requests) request.done = [](auto) {};
    if (alive) ::shutdown(socket.native_handle(), SHUT_WR);
  }

  // Only now its children are ours (when this process adopts orphans), and we wait for them.
  void on_server_exit() {
    if (alive) take_answers();
    if (alive) lose_server();
    for (auto& [pid, watch] : children) watch->start();
    children.clear();
  }

  void lose_server() {
    alive = false;
    boost::system::error_code ignored;
    socket.close(ignored);
    while (!requests.empty()) {
      const Request request = std::move(requests.front());
      requests.pop_front();
      request.done(
          Error{Code::kUnavailable, text("the fork server, process ", server_pid, ", ended")});
    }
  }

  asio::io_context& loop;
  asio::posix::stream_descriptor socket;
  int server_pid;
  bool alive = true;
  std::deque<Request> requests;
  std::map<int, std::shared_ptr<ExitWatch>> children;
};

class PosixForkServer final : public ForkServer {
 public:
  PosixForkServer(asio::io_context& loop, Started started, ExitDone exited)
      : exited_(std::make_shared<ExitDone>(std::move(exited))) {
    Descriptor pidfd = std::move(started.pidfd);
    state_ = std::make_shared<State>(loop, std::move(started));
    state_->listen();
    const auto report = [state = state_, wanted = exited_](Exit exit) {
      state->on_server_exit();
      if (*wanted) (*wanted)(exit);
    };
    std::make_shared<ExitWatch>(loop, std::move(pidfd), report)->start();
  }
  ~PosixForkServer() override {
    *exited_ = nullptr;
    state_->leave();
  }

  void fork(std::vector<std::string> arguments, std::string output_path, ForkDone done,
            ExitDone exited) override {
    auto stream = ask(arguments, output_path);
    if (!stream.ok()) {
      asio::post(state_->loop, [done, error = stream.error()] { done(error); });
      return;
    }
    state_->requests.push_back({std::move(stream).value(), std::move(done), std::move(exited)});
  }

 private:
  // Sends the request; answers our end of the child's socket.
  Result<Descriptor> ask(const std::vector<std::string>& arguments,
                         const std::string& output_path) {
    std::string message;
    for (const std::string& word : arguments) message += word + '\0';
    if (message.empty() || message.size() > kForkRequestMax) {
      return Error{Code::kInvalid, text("cannot fork: arguments of ", message.size(),
                                        " bytes, allowed are 1 to ", kForkRequestMax)};
    }
    if (!state_->alive) {
      return Error{Code::kUnavailable,
                   text("the fork server, process ", state_->server_pid, ", ended")};
    }
    EDL_TRY(const Descriptor output, open_output(output_path));
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      return os_error(errno, "make a socket pair");
    }
    Descriptor ours(ends[0]);
    const Descriptor theirs(ends[1]);
    std::vector<int> passed{theirs.number()};
    if (output.valid()) passed.push_back(output.number());
    const int failed = send_packet(state_->socket.native_handle(), bytes_of(message), passed);
    if (failed != 0) return os_error(failed, text("ask process ", state_->server_pid, " to fork"));
    return ours;
  }

  std::shared_ptr<ExitDone> exited_;  // empty once nobody wants the report
  std::shared_ptr<State> state_;
};

}  // namespace

std::unique_ptr<ForkServer> posix_fork_server(asio::io_context& loop, Started server,
                                              ExitDone exited) {
  return std::make_unique<PosixForkServer>(loop, std::move(server), std::move(exited));
}

}  // namespace edl::os
