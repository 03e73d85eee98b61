#include "edl/wire/handshake.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::wire {
namespace {

Error refuse(std::string reason) { return {Code::kInvalid, std::move(reason)}; }

template <std::size_t N>
Result<std::array<std::byte, N>> fixed_hex(const std::string& digits, std::string_view what) {
  const auto bytes = parse_hex(digits);
  if (!bytes.ok() || bytes->size() != N) {
    return refuse(text("a ", what, " that is not ", N, " bytes"));
  }
  std::array<std::byte, N> out{};
  std::copy(bytes->begin(), bytes->end(), out.begin());
  return out;
}

bool printable(const std::string& id) {
  return !id.empty() && id.size() <= kIdMax &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < 127; });
}

}  // namespace

Handshake::Handshake(Role role, Identity identity, const Nonce& our_nonce)
    : role_(role),
      identity_(identity),
      stage_(role == Role::kClient ? Stage::kAwaitChallenge : Stage::kAwaitHello) {
  EDL_CHECK(printable(identity.id), "an id must be 1 to 128 printable letters without spaces");
  conversation_.job = identity.job;
  (role == Role::kClient ? conversation_.client_nonce : conversation_.server_nonce) = our_nonce;
  (role == Role::kClient ? conversation_.client_id : conversation_.server_id) = identity.id;
}

Frame Handshake::make(Kind kind, Json body) const {
  Frame frame;
  frame.header.kind = kind;
  frame.header.job = identity_.job;
  frame.body = std::move(body);
  return frame;
}

std::optional<Frame> Handshake::opening() {
  if (role_ == Role::kServer) return std::nullopt;
  return make(Kind::kHello, {{"id", identity_.id}, {"nonce", hex(conversation_.client_nonce)}});
}

Result<std::optional<Frame>> Handshake::receive(const Frame& frame) {
  auto answer = step(frame);
  if (!answer.ok()) stage_ = Stage::kRefused;
  return answer;
}

Result<std::optional<Frame>> Handshake::step(const Frame& frame) {
  if (frame.header.kind == Kind::kRefusal) {
    std::string reason = "no reason given";
    JsonReader in(frame.body, "refusal");
    in.read("reason", reason);
    return Error{Code::kUnavailable, text("refused by the other end: ", reason)};
  }
  if (frame.header.job != identity_.job) return refuse("a frame of another job");
  const Kind kind = frame.header.kind;
  if (stage_ == Stage::kAwaitHello && kind == Kind::kHello) {
    EDL_TRY(Frame answer, on_hello(frame));
    return std::optional<Frame>(std::move(answer));
  }
  if (stage_ == Stage::kAwaitChallenge && kind == Kind::kChallenge) {
    EDL_TRY(Frame answer, on_challenge(frame));
    return std::optional<Frame>(std::move(answer));
  }
  if (stage_ == Stage::kAwaitProof && kind == Kind::kProof) {
    EDL_TRY(Frame answer, on_proof(frame));
    return std::optional<Frame>(std::move(answer));
  }
  if (stage_ == Stage::kAwaitWelcome && kind == Kind::kWelcome) {
    stage_ = Stage::kDone;
    return std::optional<Frame>();
  }
  return refuse(
      text("a ", kind_name(kind), " where it does not belong, before the secret was proven"));
}

// Reads id and nonce of the other end; each nonce is good for one conversation.
Result<void> Handshake::meet(const Frame& frame, Nonce& their_nonce) {
  JsonReader in(frame.body, kind_name(frame.header.kind));
  std::string nonce;
  in.read("id", peer_id_);
  in.read("nonce", nonce);
  EDL_TRY(in.finish());
  if (!printable(peer_id_)) return refuse("an id that is not 1 to 128 printable letters");
  EDL_TRY(their_nonce, fixed_hex<32>(nonce, "nonce"));
  const Nonce& ours =
      role_ == Role::kClient ? conversation_.client_nonce : conversation_.server_nonce;
  if (their_nonce == ours || !identity_.book.use(their_nonce)) {
    return refuse("a nonce that was used before: a replayed conversation");
  }
  return {};
}

Result<Frame> Handshake::on_hello(const Frame& frame) {
  EDL_TRY(meet(frame, conversation_.client_nonce));
  conversation_.client_id = peer_id_;
  stage_ = Stage::kAwaitProof;
  const Digest ours = prove(identity_.secret, Role::kServer, conversation_);
  return make(
      Kind::kChallenge,
      {{"id", identity_.id}, {"nonce", hex(conversation_.server_nonce)}, {"proof", hex(ours)}});
}

Result<Frame> Handshake::on_challenge(const Frame& frame) {
  EDL_TRY(meet(frame, conversation_.server_nonce));
  conversation_.server_id = peer_id_;
  EDL_TRY(check_proof(frame, Role::kServer));
  stage_ = Stage::kAwaitWelcome;
  const Digest ours = prove(identity_.secret, Role::kClient, conversation_);
  return make(Kind::kProof, {{"proof", hex(ours)}});
}

Result<Frame> Handshake::on_proof(const Frame& frame) {
  EDL_TRY(check_proof(frame, Role::kClient));
  stage_ = Stage::kDone;
  return make(Kind::kWelcome, Json::object());
}

Result<void> Handshake::check_proof(const Frame& frame, Role prover) const {
  JsonReader in(frame.body, kind_name(frame.header.kind));
  std::string digits;
  in.read("proof", digits);
  EDL_TRY(in.finish());
  EDL_TRY(const Digest theirs, fixed_hex<32>(digits, "proof"));
  const Digest expected = prove(identity_.secret, prover, conversation_);
  if (!equal_in_constant_time(theirs, expected)) return refuse("the job's secret does not match");
  return {};
}

}  // namespace edl::wire
