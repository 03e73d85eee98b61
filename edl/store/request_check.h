// What can be said about a request without looking at the store.
#pragma once

#include <optional>

#include "edl/store/core.h"

namespace edl::store {

// Nothing when the request may be tried.
std::optional<Refusal> check_request(const UnaryRequest& request, const CoreLimits& limits);

// Above `message_bytes_max` etcd does not even look at a message.
std::optional<Refusal> check_message_size(std::int64_t bytes, const CoreLimits& limits);

// Its length in etcd's protocol buffers, which is what etcd's limits count.
template <class M>
std::int64_t message_bytes(const M& message);

}  // namespace edl::store
