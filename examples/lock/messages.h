// What both sides of the lock share: how they connect, and their messages as frames. A frame's type
// is the request's or answer's, `first` its number, the rest JSON.
#pragma once

#include "edl/wire/endpoint.h"
#include "examples/lock/core.h"

namespace edl::lock {

// How both sides connect: small messages, and pings well within what the other takes for silence.
wire::EndpointOptions endpoint_options(std::string id, const wire::Secret& secret);

Result<void> send_request(wire::Connection& connection, const Request& request);
Result<Request> request_from(const wire::Frame& frame);

Result<void> send_decision(wire::Connection& connection, const Decision& decision);
Result<Decision> decision_from(const wire::Frame& frame);

}  // namespace edl::lock
