#include "bench/view_agreement/counting.h"

#include <algorithm>

#include "edl/membership/membership.h"

namespace edl::bench {
namespace {

class CountingStream final : public os::Stream {
 public:
  CountingStream(std::unique_ptr<os::Stream> inner, bool is_store, Traffic& traffic)
      : inner_(std::move(inner)), is_store_(is_store), traffic_(traffic) {}

  void read(ByteSpan into, os::ReadDone done) override {
    inner_->read(into, [this, done = std::move(done)](Result<std::size_t> got) {
      if (is_store_ && got.ok()) traffic_.store_bytes += *got;
      done(got);
    });
  }
  void write(std::span<const ConstBytes> pieces, os::WriteDone done) override {
    for (const ConstBytes piece : pieces) count(piece);
    inner_->write(pieces, std::move(done));
  }
  void close() override { inner_->close(); }
  void send_memory(const os::Memory& memory, os::WriteDone done) override {
    inner_->send_memory(memory, std::move(done));
  }
  void receive_memory(os::MemoryDone done) override { inner_->receive_memory(std::move(done)); }
  std::string peer() const override { return inner_->peer(); }

 private:
  // A frame's header is a piece of its own.
  void count(ConstBytes piece) {
    if (is_store_) traffic_.store_bytes += piece.size();
    if (is_store_ || piece.size() != wire::kHeaderBytes) return;
    wire::HeaderBytes bytes;
    std::copy(piece.begin(), piece.end(), bytes.begin());
    const auto header = wire::decode(bytes, {});
    if (!header.ok() || header->kind != wire::Kind::kMessage) return;
    if (header->type != membership::kMembershipMessage) return;
    ++traffic_.messages;
    traffic_.message_bytes += wire::kHeaderBytes + header->body_bytes;
  }

  std::unique_ptr<os::Stream> inner_;
  const bool is_store_;
  Traffic& traffic_;
};

class CountingNetwork final : public os::Network {
 public:
  CountingNetwork(os::Network& inner, Traffic& traffic) : inner_(inner), traffic_(traffic) {}

  Result<std::unique_ptr<os::Listener>> listen(const os::Address& address,
                                               os::Accept accept) override {
    return inner_.listen(address, [this, accept = std::move(accept)](auto stream) {
      accept(std::make_unique<CountingStream>(std::move(stream), false, traffic_));
    });
  }
  os::Pending connect(const os::Address& address, Duration limit, os::ConnectDone done) override {
    const bool is_store = address.host == kStoreHost;
    return inner_.connect(
        address, limit,
        [this, is_store, done = std::move(done)](Result<std::unique_ptr<os::Stream>> made) {
          if (!made.ok()) return done(made.error());
          done(std::unique_ptr<os::Stream>(
              std::make_unique<CountingStream>(std::move(made).value(), is_store, traffic_)));
        });
  }

 private:
  os::Network& inner_;
  Traffic& traffic_;
};

class CountingSystem final : public os::System {
 public:
  CountingSystem(os::System& inner, Traffic& traffic)
      : inner_(inner), network_(inner.network(), traffic) {}

  Time now() const override { return inner_.now(); }
  WallTime wall_time() const override { return inner_.wall_time(); }
  os::Pending after(Duration delay, os::Task task) override {
    return inner_.after(delay, std::move(task));
  }
  void post(os::Task task) override { inner_.post(std::move(task)); }
  void fill_random(ByteSpan into) override { inner_.fill_random(into); }
  void on_signal(os::Signal signal, os::Task task) override {
    inner_.on_signal(signal, std::move(task));
  }
  void finish(int exit_code) override { inner_.finish(exit_code); }
  os::Network& network() override { return network_; }
  os::Disk& disk() override { return inner_.disk(); }
  os::Processes& processes() override { return inner_.processes(); }
  Result<std::unique_ptr<os::Memory>> make_memory(std::size_t bytes) override {
    return inner_.make_memory(bytes);
  }
  Result<std::unique_ptr<os::Memory>> find_memory(const std::string& place) override {
    return inner_.find_memory(place);
  }
  const Log& log() override { return inner_.log(); }

 private:
  os::System& inner_;
  CountingNetwork network_;
};

}  // namespace

std::unique_ptr<os::System> counting_system(os::System& inner, Traffic& traffic) {
  return std::make_unique<CountingSystem>(inner, traffic);
}

}  // namespace edl::bench
