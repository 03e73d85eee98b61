// Reads a range as etcd does: filters, order, limit and count.
#pragma once

#include "edl/store/history.h"

namespace edl::store {

// The revision was checked before. The header is left to the caller.
RangeResponse read_range(const History& history, const RangeRequest& request);

}  // namespace edl::store
