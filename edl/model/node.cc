#include "edl/model/node.h"

#include "edl/model/fields.h"

namespace edl::model {

void to_json(Json& json, const Node& node) {
  json = Json{{"node", node.name},
              {"slots", node.slots},
              {"kind", node.kind},
              {"domain", node.domain},
              {"address", node.address}};
}

Result<Node> node_from(const Json& json) {
  JsonReader in(json, "node");
  Node node;
  read_text(in, "node", node.name);
  in.read("slots", node.slots);
  read_text_optional(in, "kind", node.kind);
  read_text_optional(in, "domain", node.domain);
  read_text_optional(in, "address", node.address);
  EDL_TRY(in.finish());
  if (node.name.empty()) return Error{Code::kInvalid, "node: its name is empty"};
  return node;
}

}  // namespace edl::model
