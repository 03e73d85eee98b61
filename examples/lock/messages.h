// The lock's messages as frames: the type is the request's or answer's, `first` its number, the
// rest JSON.
#pragma once

#include "edl/wire/connection.h"
#include "examples/lock/core.h"

namespace edl::lock {

Result<void> send_request(wire::Connection& connection, const Request& request);
Result<Request> request_from(const wire::Frame& frame);

Result<void> send_decision(wire::Connection& connection, const Decision& decision);
Result<Decision> decision_from(const wire::Frame& frame);

}  // namespace edl::lock
