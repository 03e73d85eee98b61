// A machine that workers run on.
#pragma once

#include <cstdint>
#include <string>

#include "edl/base/json.h"
#include "edl/base/result.h"

namespace edl::model {

struct Node {
  std::string name;
  std::uint32_t slots = 1;
  std::string kind;     // of its devices
  std::string domain;   // rack or zone that fails as one
  std::string address;  // of its agent

  bool operator==(const Node&) const = default;
};

// The fields of a node in a snapshot, and its address.
void to_json(Json& json, const Node& node);
Result<Node> node_from(const Json& json);

}  // namespace edl::model
