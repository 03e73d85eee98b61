// One process of an all-reduce by EDL, over TCP or Unix sockets, for benchmarks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/allreduce/commands.h"
#include "edl/collective/all_reduce.h"
#include "edl/collective/exchange.h"
#include "edl/os/posix/system.h"
#include "edl/wire/endpoint.h"

namespace edl::bench {

class Member {
 public:
  struct Place {
    std::uint32_t rank = 0;
    std::uint32_t procs = 1;
    std::string folder{};  // where the members find each other
    bool is_unix = false;
  };
  // What is done beside the sums.
  struct Extras {
    bool hashes = true;
    bool beats = false;
    std::function<void(model::Step, const model::Digest&)> each_step{};
  };

  explicit Member(Place place);

  // Milliseconds a round.
  double run(const Command& command, const Extras& extras);
  // Of one step with so many logical workers.
  std::string digest(std::uint32_t logical);

  os::PosixSystem& system() { return *system_; }

 private:
  os::Address address_at(std::uint32_t rank, std::uint16_t port) const;
  void tell_port(std::uint16_t port) const;
  std::uint16_t port_of(std::uint32_t rank);
  void take(std::unique_ptr<wire::Connection> made);
  void enter(std::uint64_t count, std::uint32_t logical, collective::Adder& adder);
  void reduce();
  void beat();
  void wait_for_all();

  const Place place_;
  const model::Rank own_{place_.rank};
  std::unique_ptr<LogSink> sink_ = silent_log_sink();
  std::unique_ptr<os::PosixSystem> system_ = os::posix_system({.log_sink = sink_.get()});
  wire::Endpoint endpoint_;
  std::vector<os::Pending> attempts_;
  std::vector<std::unique_ptr<wire::Connection>> connections_;
  std::vector<std::unique_ptr<collective::ConnectionLink>> links_;
  std::uint32_t connected_ = 0;
  std::uint64_t generation_ = 0;
  model::View view_;
  model::Step step_;
  std::unique_ptr<collective::Layout> layout_;
  collective::HostAdder adder_;
  std::unique_ptr<collective::Adder> unhashed_;
  Bytes reduced_;
  std::vector<Bytes> sums_;
  std::unique_ptr<collective::AllReduce> all_reduce_;
  collective::Exchange exchange_{[](model::Rank, const Error&) {}};
  model::Digest digest_{};
  bool is_reduced_ = false;
  os::Pending beating_;
};

}  // namespace edl::bench
