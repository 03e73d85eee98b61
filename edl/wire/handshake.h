// The proof of the secret by both ends, as a core: frames in, frames or a refusal out.
// What is sent and why is in docs/reference/wire.md.
#pragma once

#include <optional>
#include <string>

#include "edl/wire/frame.h"
#include "edl/wire/proof.h"

namespace edl::wire {

// Who this end is. `secret` and `book` outlive the handshakes.
struct Identity {
  JobTag job;
  std::string id;  // at most 128 letters
  const Secret& secret;
  NonceBook& book;
};
inline constexpr std::size_t kIdMax = 128;

class Handshake {
 public:
  Handshake(Role role, Identity identity, const Nonce& our_nonce);

  // What to send before anything was received: the client's hello.
  std::optional<Frame> opening();
  // Answers the frame to send, if there is one. An error is the reason to refuse the peer; nothing
  // may follow it.
  Result<std::optional<Frame>> receive(const Frame& frame);

  bool done() const { return stage_ == Stage::kDone; }
  const std::string& peer_id() const { return peer_id_; }

 private:
  enum class Stage { kAwaitHello, kAwaitChallenge, kAwaitProof, kAwaitWelcome, kDone, kRefused };

  Result<Frame> on_hello(const Frame& frame);
  Result<Frame> on_challenge(const Frame& frame);
  Result<Frame> on_proof(const Frame& frame);
  Result<std::optional<Frame>> step(const Frame& frame);
  Result<void> meet(const Frame& frame, Nonce& their_nonce);
  Result<void> check_proof(const Frame& frame, Role prover) const;
  Frame make(Kind kind, Json body) const;

  const Role role_;
  const Identity identity_;
  Conversation conversation_;
  Stage stage_;
  std::string peer_id_;
};

}  // namespace edl::wire
