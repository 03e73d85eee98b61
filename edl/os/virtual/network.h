// The network of a virtual world: reliable ordered streams, as TCP makes them, over links that
// delay, lose, reorder, slow down, and break in one or both directions.
//
// What a program sees of a lost packet is a delay; of a cut link, silence until something is sent
// again; of a machine that lost its power, nothing at all until it is back and answers with a
// reset.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "edl/base/random.h"
#include "edl/os/network.h"
#include "edl/os/virtual/events.h"
#include "edl/os/virtual/process.h"
#include "edl/os/virtual/trace.h"

namespace edl::os {

struct VirtualLink {
  int cuts = 0;                        // blocked while above 0
  Duration extra_delay{};              // added to each packet
  std::uint32_t lose_one_in = 0;       // 0: none
  std::uint64_t bytes_per_second = 0;  // 0: no limit
};

struct VirtualConnection;

class VirtualNetwork {
 public:
  VirtualNetwork(EventQueue& events, std::uint64_t seed, Trace& trace);
  ~VirtualNetwork();

  // Nodes are numbered from 0; node i has the address 10.0.0.(i+1) and a name.
  void add_node(const std::string& name);
  std::string host_of(int node) const;
  VirtualLink& link(int from, int to) { return links_[{from, to}]; }

  // What a process does.
  Result<std::unique_ptr<Listener>> listen(const ProcessPtr& process, const Address& address,
                                           Accept accept);
  Pending connect(const ProcessPtr& process, const Address& address, Duration limit,
                  ConnectDone done);
  // A connected pair on one node, for a parent and its child.
  std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> pair(const ProcessPtr& a,
                                                                   const ProcessPtr& b);

  // What happens to it. A dead process's streams are closed by its kernel; those of a node without
  // power vanish without a word.
  void process_died(int pid);
  void power_lost(int node);
  void power_back(int node) { down_[static_cast<std::size_t>(node)] = false; }

 private:
  friend struct VirtualConnection;
  friend class VirtualStream;
  friend class VirtualListener;
  struct Attempt;
  class AttemptOperation;
  struct Port {
    ProcessPtr process;
    Accept accept;
    std::uint64_t id = 0;
  };
  using PortKey = std::pair<int, std::string>;  // node, "8080" or the path of a Unix socket

  bool blocked(int from, int to);
  // When a packet sent now arrives.
  Duration packet_delay(int from, int to, std::size_t bytes);
  std::shared_ptr<VirtualConnection> connection(const ProcessPtr& a, const ProcessPtr& b,
                                                std::string a_sees, std::string b_sees);
  Result<int> node_of(const Address& address, int from) const;
  void send_syn(const std::shared_ptr<Attempt>& attempt, Duration again_after);
  void syn_arrives(const std::shared_ptr<Attempt>& attempt, Duration again_after);
  void send_syn_ack(const std::shared_ptr<Attempt>& attempt, Duration again_after);

  EventQueue& events_;
  Random random_;
  Trace& trace_;
  std::vector<std::string> names_;
  std::vector<bool> down_;
  std::map<std::pair<int, int>, VirtualLink> links_;
  std::map<PortKey, Port> ports_;
  std::vector<std::weak_ptr<VirtualConnection>> connections_;
  std::size_t connections_max_ = 16;  // then those that are gone are forgotten
  std::uint64_t next_port_id_ = 1;
  int next_free_port_ = 20000;
};

}  // namespace edl::os
