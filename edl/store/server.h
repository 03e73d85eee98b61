// The embedded store: etcd's API on one address, its data in one folder. A shell around StoreCore.
//
// What arrived since the last turn is applied together, committed to disk in one transaction, and
// only then answered. Between two turns the core holds nothing that is not on disk.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "edl/http/server.h"
#include "edl/store/core.h"
#include "edl/store/disk.h"
#include "edl/store/streams.h"

namespace edl::store {

struct StoreOptions {
  os::Address address;
  std::string folder;
  std::string token{};  // what every request must show; empty: nothing
  const http::TlsContext* tls = nullptr;
  CoreLimits limits{};
  DiskLimits disk{};
  Duration progress_every = 5s;  // between two signs of life on a watch that asked for them
};

class StoreServer final : public os::Program {
 public:
  // An error when the folder is in use, damaged or not writable, or the address is taken.
  static Result<std::unique_ptr<StoreServer>> start(os::System& system, StoreOptions options);
  ~StoreServer() override;

  os::Address address() const { return http_->address(); }
  bool has_ended() const { return ended_; }
  const StoreCore& core() const { return *core_; }
  // Answers what has arrived, then leaves the folder in order.
  Result<void> close();

 private:
  struct Waiting {
    std::unique_ptr<http::Exchange> exchange;
    UnaryRequest request;
  };

  StoreServer(os::System& system, StoreOptions options, std::unique_ptr<StoreDisk> disk);

  Result<void> load();
  Result<void> listen();
  bool is_allowed(const http::Request& request) const;
  void on_exchange(std::unique_ptr<http::Exchange> exchange);
  void on_unary(std::unique_ptr<http::Exchange> exchange);
  void on_stream(std::unique_ptr<http::Exchange> exchange, Route route);
  void on_status(http::Exchange& exchange);
  http::Response status() const;

  void want_turn();
  void gather(std::size_t known);
  void turn();
  std::vector<UnaryResponse> apply_all(Time now);
  UnaryResponse apply(const UnaryRequest& request, Time now);
  bool commit();
  void on_disk_full(const Error& error);
  void probe_disk();
  void probe_disk_later();
  void set_alarm();
  void on_alarm();
  void rest();
  void tell_progress();
  void give_up(const Error& error);

  os::System& system_;
  const StoreOptions options_;
  const Log log_;
  std::unique_ptr<StoreDisk> disk_;
  std::unique_ptr<StoreCore> core_;
  std::uint64_t starts_ = 0;
  bool turn_wanted_ = false;
  bool rest_wanted_ = false;
  bool disk_full_ = false;
  bool ended_ = false;
  std::vector<Waiting> waiting_;
  StreamSet streams_;
  Time alarm_at_{};
  os::Pending alarm_;
  os::Pending turn_;
  os::Pending resting_;
  os::Pending probe_;
  os::Pending progress_;
  std::unique_ptr<http::Server> http_;  // last: ends before what its callbacks use
};

}  // namespace edl::store
