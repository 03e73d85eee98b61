#include "edl/membership/mesh.h"

#include <algorithm>

namespace edl::membership {
namespace {

constexpr Duration kPauseMin = 5ms;
constexpr Duration kPauseMax = 500ms;
constexpr Duration kDialLimit = 2s;

}  // namespace

Mesh::Mesh(os::System& system, wire::EndpointOptions options, MeshEvents events)
    : system_(system),
      options_(std::move(options)),
      events_(std::move(events)),
      endpoint_(system, options_),
      last_beat_(system.now()),
      awake_since_(system.now()) {}

Mesh::~Mesh() { *alive_ = false; }

Result<os::Address> Mesh::listen(const os::Address& address) {
  return endpoint_.listen(address, [this](std::unique_ptr<wire::Connection> connection) {
    // One that we do not know yet will be in the store soon; it comes again until then.
    if (dials(connection->peer_id()) || connection->peer_id() == options_.id) return;
    adopt(std::move(connection));
  });
}

void Mesh::know(const model::WorkerId& id, const std::string& address) {
  if (id == options_.id) return;
  const auto parsed = os::parse_address(address);
  if (!parsed.ok()) return;
  Peer& peer = peers_[id];
  if (peer.address == *parsed) return;
  peer.address = *parsed;
  if (dials(id)) dial(id);
}

void Mesh::forget(const model::WorkerId& id) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  const bool was_up = found->second.connection != nullptr;
  if (was_up) old_.push_back(std::move(found->second.connection));
  if (was_up) old_.back()->close();
  peers_.erase(found);
  if (was_up) events_.link(id, false);
}

wire::Connection* Mesh::connection(const model::WorkerId& id) {
  const auto found = peers_.find(id);
  return found == peers_.end() ? nullptr : found->second.connection.get();
}

void Mesh::send(const model::WorkerId& id, const wire::MessageHead& head, const Json& body,
                Bytes payload) {
  wire::Connection* const to = connection(id);
  if (to == nullptr) return;
  if (const auto sent = to->send(head, body, std::move(payload)); !sent.ok()) {
    system_.log().debug("not sent", {{"to", id}, {"why", sent.error().message}});
  }
}

void Mesh::enter(model::Generation generation) {
  generation_ = generation;
  std::vector<model::WorkerId> ids;
  for (const auto& [id, peer] : peers_) ids.push_back(id);
  const std::shared_ptr<bool> alive = alive_;
  for (const model::WorkerId& id : ids) {
    if (wire::Connection* const to = connection(id)) to->enter(generation);
    if (!*alive) return;
  }
}

void Mesh::cut(const model::WorkerId& id) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  found->second.is_cut = true;
  lose(id);
}

void Mesh::dial(const model::WorkerId& id) {
  Peer& peer = peers_[id];
  if (peer.connection || peer.is_cut) return;
  peer.dialing = endpoint_.connect(peer.address, kDialLimit,
                                   [this, id](Result<std::unique_ptr<wire::Connection>> made) {
                                     if (!made.ok()) return dial_later(id);
                                     adopt(std::move(made).value());
                                   });
}

void Mesh::dial_later(const model::WorkerId& id) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  peer.pause = std::clamp(2 * peer.pause, kPauseMin, kPauseMax);
  peer.dialing = system_.after(peer.pause, [this, id] { dial(id); });
}

void Mesh::adopt(std::unique_ptr<wire::Connection> connection) {
  const model::WorkerId id = connection->peer_id();
  Peer& peer = peers_[id];
  if (peer.is_cut) return;
  if (peer.connection) lose(id);  // the other end has begun anew
  connection->receive_bulk(
      [this, id](const wire::Header& header, std::uint64_t offset, ConstBytes piece) {
        events_.bulk(id, header, offset, piece);
      },
      [this, id](const wire::Header& header, std::uint64_t offset) {
        return events_.bulk_place ? events_.bulk_place(id, header, offset) : ByteSpan();
      });
  connection->start([this, id](wire::Frame frame) { events_.frame(id, std::move(frame)); },
                    [this, id](const Error&) { lose(id); });
  connection->enter(generation_);
  Peer& now = peers_[id];
  now.connection = std::move(connection);
  now.pause = {};
  now.silent = false;
  events_.link(id, true);
}

void Mesh::lose(const model::WorkerId& id) {
  const auto found = peers_.find(id);
  if (found == peers_.end() || !found->second.connection) return;
  found->second.connection->close();
  old_.push_back(std::move(found->second.connection));
  sweep_ = system_.after(1s, [this] { old_.clear(); });
  if (dials(id)) dial_later(id);
  events_.link(id, false);
}

void Mesh::beat(const model::WorkerId& leader, const Limits& limits) {
  const Time now = system_.now();
  // We were stopped or starved ourselves: the others get their time anew.
  if (now - last_beat_ > limits.leader / 2) awake_since_ = now;
  last_beat_ = now;
  // Whoever leads from now on was not in a hurry before.
  if (std::exchange(leader_, leader) != leader) leader_since_ = now;
  std::vector<model::WorkerId> silent;
  std::vector<model::WorkerId> speaking;
  for (auto& [id, peer] : peers_) {
    if (!peer.connection) continue;
    const bool hurries = id == leader || leader == options_.id;
    if (now - peer.connection->last_sent() >= (hurries ? kLeaderBeat : kBeat)) {
      peer.connection->ping();
    }
    Time heard = std::max(peer.connection->last_heard(), awake_since_);
    if (hurries) heard = std::max(heard, leader_since_);
    // How long is too long depends on who leads; what was silent is so until it is heard.
    const bool is_silent = peer.silent ? peer.connection->last_heard() <= peer.heard_before
                                       : now - heard > (hurries ? limits.leader : limits.others);
    if (is_silent == peer.silent) continue;
    peer.silent = is_silent;
    peer.heard_before = peer.connection->last_heard();
    (is_silent ? silent : speaking).push_back(id);
  }
  const std::shared_ptr<bool> alive = alive_;
  for (const model::WorkerId& id : speaking) {
    events_.link(id, true);
    if (!*alive) return;
  }
  for (const model::WorkerId& id : silent) {
    events_.silent(id);
    if (!*alive) return;
  }
}

}  // namespace edl::membership
