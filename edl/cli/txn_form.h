// Transactions in the form that people write: JSON with plain keys and values.
// docs/reference/cli.md describes it.
#pragma once

#include <string_view>

#include "edl/base/result.h"
#include "edl/store/message.h"

namespace edl::cli {

// A field that the form does not have is an error.
Result<store::TxnRequest> parse_txn(std::string_view json);

}  // namespace edl::cli
