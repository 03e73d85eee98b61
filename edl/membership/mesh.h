// Connections between all workers of a job: one for each pair, kept up as long as both are known.
// Of two workers the one with the greater id connects. A link that breaks is told at once; one that
// is silent for too long is told too, and again when it speaks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "edl/model/ids.h"
#include "edl/wire/endpoint.h"

namespace edl::membership {

struct MeshEvents {
  std::function<void(const model::WorkerId&, bool up)> link;
  std::function<void(const model::WorkerId&)> silent;
  std::function<void(const model::WorkerId&, wire::Frame)> frame;
  std::function<void(const model::WorkerId&, const wire::Header&, std::uint64_t offset,
                     ConstBytes piece)>
      bulk;
  // As wire::Connection::BulkPlace; may be empty.
  std::function<ByteSpan(const model::WorkerId&, const wire::Header&, std::uint64_t offset)>
      bulk_place{};
};

class Mesh {
 public:
  // Of a link with nobody's special attention, and of one with the leader.
  static constexpr Duration kBeat = 500ms;
  static constexpr Duration kLeaderBeat = 50ms;

  Mesh(os::System& system, wire::EndpointOptions options, MeshEvents events);
  ~Mesh();

  Result<os::Address> listen(const os::Address& address);

  // This worker exists, there.
  void know(const model::WorkerId& id, const std::string& address);
  // It does not exist any more.
  void forget(const model::WorkerId& id);

  // Null when there is no link now.
  wire::Connection* connection(const model::WorkerId& id);
  // Nothing when there is no link: who needs an answer asks again.
  void send(const model::WorkerId& id, const wire::MessageHead& head, const Json& body,
            Bytes payload = {});
  // Bulk data of older generations is dropped from now on.
  void enter(model::Generation generation);
  // Breaks this link for good: what was said on it cannot be trusted.
  void cut(const model::WorkerId& id);

  // Says "I am here" where it is time to, and looks for silence. `leader`: with which links both
  // ends are in a hurry; all when it is our own.
  struct Limits {
    Duration leader{};
    Duration others{};
  };
  void beat(const model::WorkerId& leader, const Limits& limits);

 private:
  struct Peer {
    os::Address address{};
    std::unique_ptr<wire::Connection> connection{};
    os::Pending dialing{};
    Duration pause{};
    bool silent = false;
    Time heard_before{};  // the last that was heard before it was silent
    bool is_cut = false;
  };

  bool dials(const model::WorkerId& id) const { return id < options_.id; }
  void dial(const model::WorkerId& id);
  void dial_later(const model::WorkerId& id);
  void adopt(std::unique_ptr<wire::Connection> connection);
  void lose(const model::WorkerId& id);

  os::System& system_;
  const wire::EndpointOptions options_;
  const MeshEvents events_;
  wire::Endpoint endpoint_;
  model::Generation generation_;
  std::map<model::WorkerId, Peer> peers_;
  // Closed ones, which may still be on the stack of their own callbacks.
  std::vector<std::unique_ptr<wire::Connection>> old_;
  os::Pending sweep_;
  Time last_beat_;
  Time awake_since_;
  model::WorkerId leader_;  // at the last beat
  Time leader_since_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace edl::membership
