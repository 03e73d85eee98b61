#include "edl/os/virtual/network.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "edl/base/text.h"
#include "edl/os/virtual/connection.h"

namespace edl::os {
namespace {

constexpr auto kSynRetry = 1s;
constexpr auto kLoopbackDelayMin = 5us;
constexpr auto kLoopbackDelayMax = 30us;
constexpr auto kDelayMin = 50us;
constexpr auto kDelayMax = 500us;
constexpr auto kSpikeMax = 20ms;  // once in a while a switch is busy
constexpr auto kRetransmit = 200ms;

}  // namespace

class VirtualStream final : public Stream {
 public:
  VirtualStream(std::shared_ptr<VirtualConnection> connection, int end)
      : connection_(std::move(connection)), end_(end) {}
  ~VirtualStream() override { close(); }

  void read(ByteSpan into, ReadDone done) override {
    if (running()) connection_->read(end_, into, std::move(done));
  }
  std::size_t read_now(ByteSpan into) override {
    return running() ? connection_->read_now(end_, into) : 0;
  }
  void write(std::span<const ConstBytes> pieces, WriteDone done) override {
    if (running()) connection_->write(end_, pieces, std::move(done));
  }
  // A dead process's streams are closed by its kernel.
  void close() override {
    if (running()) connection_->close(end_);
  }
  void send_memory(const Memory& memory, WriteDone done) override {
    const SharedBytes& content = static_cast<const VirtualMemory&>(memory).content;
    if (running()) connection_->send_memory(end_, content, std::move(done));
  }
  void receive_memory(MemoryDone done) override {
    if (running()) connection_->receive_memory(end_, std::move(done));
  }
  bool is_local() const override {
    return connection_->ends_[0].node == connection_->ends_[1].node;
  }
  std::string peer() const override { return connection_->ends_[end_].sees; }

 private:
  bool running() const { return connection_->ends_[end_].process->running(); }

  std::shared_ptr<VirtualConnection> connection_;
  int end_;
};

class VirtualListener final : public Listener {
 public:
  VirtualListener(VirtualNetwork& network, VirtualNetwork::PortKey key, std::uint64_t id,
                  Address at)
      : network_(network), key_(std::move(key)), id_(id), address_(std::move(at)) {}
  ~VirtualListener() override {
    const auto found = network_.ports_.find(key_);
    if (found != network_.ports_.end() && found->second.id == id_) network_.ports_.erase(found);
  }
  Address address() const override { return address_; }

 private:
  VirtualNetwork& network_;
  VirtualNetwork::PortKey key_;
  std::uint64_t id_;
  Address address_;
};

struct VirtualNetwork::Attempt : std::enable_shared_from_this<Attempt> {
  using Outcome = Result<std::unique_ptr<Stream>>;
  ProcessPtr process;
  Address address;
  int node = 0;
  ConnectDone done;  // empty once it was told, or nobody wants to know
  std::shared_ptr<VirtualConnection> connection;
  std::optional<Outcome> outcome;

  bool is_over() const { return !done || outcome; }
  // Whoever asked may lose interest until it is told.
  void answer(Outcome result) {
    if (is_over()) return;
    outcome = std::move(result);
    process->deliver_after(Duration::zero(), [self = shared_from_this()] {
      if (self->done) std::exchange(self->done, nullptr)(std::move(*self->outcome));
    });
  }
  void stop() {
    done = nullptr;
    outcome.reset();
    if (connection) connection->close(0);
  }
};

class VirtualNetwork::AttemptOperation final : public Pending::Operation {
 public:
  explicit AttemptOperation(std::shared_ptr<Attempt> attempt) : attempt_(std::move(attempt)) {}
  ~AttemptOperation() override {
    if (attempt_->done) attempt_->stop();
  }

 private:
  std::shared_ptr<Attempt> attempt_;
};

VirtualNetwork::VirtualNetwork(EventQueue& events, std::uint64_t seed, Trace& trace)
    : events_(events), random_(seed), trace_(trace) {}
VirtualNetwork::~VirtualNetwork() = default;

void VirtualNetwork::add_node(const std::string& name) {
  names_.push_back(name);
  down_.push_back(false);
}

std::string VirtualNetwork::host_of(int node) const { return text("10.0.0.", node + 1); }

bool VirtualNetwork::blocked(int from, int to) {
  if (down_[static_cast<std::size_t>(from)] || down_[static_cast<std::size_t>(to)]) return true;
  return from != to && link(from, to).cuts > 0;
}

Duration VirtualNetwork::packet_delay(int from, int to, std::size_t bytes) {
  if (from == to) return random_.between(kLoopbackDelayMin, kLoopbackDelayMax);
  const VirtualLink& wire = link(from, to);
  Duration delay = random_.between(kDelayMin, kDelayMax) + wire.extra_delay;
  if (random_.once_in(200)) {
    delay += random_.between(kDelayMin, kSpikeMax);
    trace_.hit("fault.net_delay");
  }
  if (random_.once_in(wire.lose_one_in)) {
    delay += kRetransmit;  // lost, and sent again
    trace_.hit("fault.net_loss");
  }
  if (wire.bytes_per_second > 0) {
    delay += Duration(bytes * 1'000'000'000 / wire.bytes_per_second);
    trace_.hit("fault.net_slow");
  }
  return delay;
}

std::shared_ptr<VirtualConnection> VirtualNetwork::connection(const ProcessPtr& a,
                                                              const ProcessPtr& b,
                                                              std::string a_sees,
                                                              std::string b_sees) {
  auto made = std::make_shared<VirtualConnection>(*this);
  made->ends_[0].process = a;
  made->ends_[0].node = a->node;
  made->ends_[0].sees = std::move(a_sees);
  made->ends_[1].process = b;
  made->ends_[1].node = b->node;
  made->ends_[1].sees = std::move(b_sees);
  if (connections_.size() >= connections_max_) {
    std::erase_if(connections_, [](const auto& known) { return known.expired(); });
    connections_max_ = 2 * connections_.size() + 16;
  }
  connections_.push_back(made);
  return made;
}

std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> VirtualNetwork::pair(
    const ProcessPtr& a, const ProcessPtr& b) {
  const auto made = connection(a, b, text("process ", b->pid), "the parent process");
  return {std::make_unique<VirtualStream>(made, 0), std::make_unique<VirtualStream>(made, 1)};
}

Result<int> VirtualNetwork::node_of(const Address& address, int from) const {
  const std::string& host = address.host;
  if (address.is_local() || host == "0.0.0.0") return from;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const int node = static_cast<int>(i);
    if (host == names_[i] || host == host_of(node)) return node;
  }
  return Error{Code::kUnavailable, text("cannot connect to ", address, ": Host not found")};
}

Result<std::unique_ptr<Listener>> VirtualNetwork::listen(const ProcessPtr& process,
                                                         const Address& asked, Accept accept) {
  Address address = asked;
  const auto node = node_of(asked, process->node);
  if (!node.ok() || *node != process->node) {
    return Error{Code::kUnavailable,
                 text("cannot listen on ", asked, ": not an address of this node")};
  }
  if (!asked.is_unix() && asked.port == 0) {
    address.port = static_cast<std::uint16_t>(next_free_port_++);
  }
  const PortKey key{process->node, asked.is_unix() ? asked.path : std::to_string(address.port)};
  if (ports_.contains(key)) {
    return Error{Code::kConflict, text("cannot listen on ", asked, ": Address already in use")};
  }
  const std::uint64_t id = next_port_id_++;
  ports_[key] = {process, std::move(accept), id};
  return std::make_unique<VirtualListener>(*this, key, id, std::move(address));
}

Pending VirtualNetwork::connect(const ProcessPtr& process, const Address& address, Duration limit,
                                ConnectDone done) {
  auto attempt = std::make_shared<Attempt>();
  attempt->process = process;
  attempt->address = address;
  attempt->done = std::move(done);
  const auto node = node_of(address, process->node);
  if (node.ok()) {
    attempt->node = *node;
    events_.after(limit, [attempt, limit] {
      if (attempt->is_over()) return;
      if (attempt->connection) attempt->connection->close(0);
      attempt->answer(
          Error{Code::kTimeout, text("cannot connect to ", attempt->address, " within ", limit)});
    });
    send_syn(attempt, kSynRetry);
  } else {
    attempt->answer(node.error());
  }
  return Pending(std::make_unique<AttemptOperation>(std::move(attempt)));
}

void VirtualNetwork::send_syn(const std::shared_ptr<Attempt>& attempt, Duration again_after) {
  events_.after(packet_delay(attempt->process->node, attempt->node, 0),
                [this, attempt, again_after] { syn_arrives(attempt, again_after); });
}

void VirtualNetwork::syn_arrives(const std::shared_ptr<Attempt>& attempt, Duration again_after) {
  if (attempt->is_over()) return;
  if (blocked(attempt->process->node, attempt->node)) {
    trace_.hit("fault.net_blocked_packet");
    events_.after(again_after,
                  [this, attempt, next = again_after * 2] { send_syn(attempt, next); });
    return;
  }
  const std::string port =
      attempt->address.is_unix() ? attempt->address.path : std::to_string(attempt->address.port);
  const auto found = ports_.find({attempt->node, port});
  if (found != ports_.end()) {
    const Port& server = found->second;
    attempt->connection =
        connection(attempt->process, server.process, address_text(attempt->address),
                   text(host_of(attempt->process->node), ":", random_.below(40000)));
    const auto stream = std::make_shared<std::unique_ptr<Stream>>(
        std::make_unique<VirtualStream>(attempt->connection, 1));
    server.process->deliver([accept = server.accept, stream] { accept(std::move(*stream)); });
  }
  send_syn_ack(attempt, kSynRetry);
}

// Or, without a connection, the reset that refuses it.
void VirtualNetwork::send_syn_ack(const std::shared_ptr<Attempt>& attempt, Duration again_after) {
  events_.after(
      packet_delay(attempt->node, attempt->process->node, 0), [this, attempt, again_after] {
        if (attempt->is_over()) return;
        if (blocked(attempt->node, attempt->process->node)) {
          trace_.hit("fault.net_blocked_packet");
          events_.after(again_after,
                        [this, attempt, next = again_after * 2] { send_syn_ack(attempt, next); });
          return;
        }
        if (attempt->connection) {
          attempt->answer(std::make_unique<VirtualStream>(attempt->connection, 0));
          return;
        }
        attempt->answer(Error{Code::kUnavailable, text("cannot connect to ", attempt->address,
                                                       ": Connection refused")});
      });
}

void VirtualNetwork::process_died(int pid) {
  std::erase_if(ports_, [&](const auto& port) { return port.second.process->pid == pid; });
  const auto known = connections_;
  for (const auto& weak : known) {
    const auto connection = weak.lock();
    for (int i = 0; connection && i < 2; ++i) {
      if (connection->ends_[i].process->pid == pid) connection->close(i);
    }
  }
}

void VirtualNetwork::power_lost(int node) {
  down_[static_cast<std::size_t>(node)] = true;
  std::erase_if(ports_, [&](const auto& port) { return port.first.first == node; });
  for (const auto& weak : connections_) {
    const auto connection = weak.lock();
    for (int i = 0; connection && i < 2; ++i) {
      if (connection->ends_[i].node == node) connection->vanish(i);
    }
  }
}

}  // namespace edl::os
