// The store's answers, as JSON for programs and as text for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "edl/store/message.h"

namespace edl::cli {

// Fields stay in the order in which they were added.
using Object = nlohmann::ordered_json;

// As text in the field `name`, or what is not UTF-8 in `name`_base64.
void add_bytes(Object& into, const std::string& name, std::string_view bytes);

enum class Values { kWith, kWithout };
Object kv_object(const store::KeyValue& kv, Values values = Values::kWith);
Object put_object(const store::PutResponse& response, bool with_previous);
Object delete_object(const store::DeleteRangeResponse& response, bool with_previous);
Object txn_object(const store::TxnResponse& response);

// In quotes and on one line, whatever it holds.
std::string in_quotes(std::string_view bytes);
// One line, with its end.
std::string object_line(const Object& object);

// The key on a line, the value on the next.
std::string kv_text(const store::KeyValue& kv);
std::string txn_text(const store::TxnResponse& response);

}  // namespace edl::cli
