// Objects made of their fields. The braces of Json alone make an array of every field first, which
// costs five times as much: enough to see where objects are made for each step.
#pragma once

#include <initializer_list>
#include <utility>

#include "edl/base/json.h"

namespace edl {

struct JsonField {
  const char* name;
  mutable Json value;  // that the object takes out of a list of constants
};

// json_object({{"id", 7}, {"host", host}})
inline Json json_object(std::initializer_list<JsonField> fields) {
  Json::object_t out;
  for (const JsonField& field : fields) out.emplace(field.name, std::move(field.value));
  return out;
}

}  // namespace edl
