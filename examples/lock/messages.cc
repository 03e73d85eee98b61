#include "examples/lock/messages.h"

namespace edl::lock {
namespace {

Json token_json(const Token& token) { return {{"epoch", token.epoch}, {"count", token.count}}; }

Result<Token> token_from(const Json& json) {
  JsonReader in(json, "token");
  Token token;
  in.read("epoch", token.epoch);
  in.read("count", token.count);
  EDL_TRY(in.finish());
  return token;
}

Error unknown_type(const wire::Frame& frame) {
  return {Code::kInvalid, text("a message of unknown type ", frame.header.type)};
}

}  // namespace

wire::EndpointOptions endpoint_options(std::string id, const wire::Secret& secret) {
  wire::EndpointOptions options{.job = "lock", .id = std::move(id), .secret = secret};
  options.connection.limits = {.body_bytes_max = 4096, .payload_bytes_max = 0};
  options.connection.ping_every = 500ms;
  options.connection.silence_max = 3s;
  return options;
}

Result<void> send_request(wire::Connection& connection, const Request& request) {
  const auto type = static_cast<std::uint32_t>(request.ask);
  return connection.send({.type = type, .first = request.number},
                         {{"token", token_json(request.token)}});
}

Result<Request> request_from(const wire::Frame& frame) {
  if (frame.header.type < 1 || frame.header.type > 3) return unknown_type(frame);
  Request request{static_cast<Ask>(frame.header.type), frame.header.first, {}};
  JsonReader in(frame.body, "request");
  in.read_with("token", request.token, token_from);
  EDL_TRY(in.finish());
  return request;
}

Result<void> send_decision(wire::Connection& connection, const Decision& decision) {
  const auto type = static_cast<std::uint32_t>(decision.answer);
  return connection.send({.type = type, .first = decision.number},
                         {{"token", token_json(decision.token)}, {"reason", decision.reason}});
}

Result<Decision> decision_from(const wire::Frame& frame) {
  if (frame.header.type < 1 || frame.header.type > 4) return unknown_type(frame);
  Decision decision;
  decision.answer = static_cast<Answer>(frame.header.type);
  decision.number = frame.header.first;
  JsonReader in(frame.body, "answer");
  in.read_with("token", decision.token, token_from);
  in.read("reason", decision.reason);
  EDL_TRY(in.finish());
  return decision;
}

}  // namespace edl::lock
