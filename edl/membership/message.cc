#include "edl/membership/message.h"

#include <array>

#include "edl/base/json_object.h"
#include "edl/model/fields.h"
#include "edl/model/words.h"

namespace edl::membership {
namespace {

constexpr std::array<std::string_view, kKinds> kNames{
    "prepare", "promise", "hand_over", "view", "accuse", "join", "admit", "ready", "leave", "beat"};

}  // namespace

std::string_view name(Kind kind) { return model::word_of(kind, kNames); }

void to_json(Json& json, const Message& message) {
  json = json_object({{"kind", name(message.kind)}});
  if (message.ballot != model::Ballot()) json["ballot"] = message.ballot;
  if (message.generation != model::Generation()) json["generation"] = message.generation;
  if (message.step != model::Step()) json["step"] = message.step;
  if (message.here != model::Position()) json["here"] = message.here;
  if (!message.who.empty()) json["who"] = message.who;
  if (!message.ids.empty()) json["ids"] = message.ids;
  if (!message.text.empty()) json["text"] = message.text;
  if (message.speed != 0) json["speed"] = message.speed;
  if (message.state != 0) json["state"] = message.state;
  if (message.view) json["view"] = *message.view;
}

Result<Message> message_from(const Json& json) {
  JsonReader in(json, "message");
  Message message;
  model::read_word(in, "kind", message.kind, [](std::string_view word) {
    return model::parse_word<Kind>("kind of message", word, kNames);
  });
  in.read_optional("ballot", message.ballot);
  in.read_optional("generation", message.generation);
  in.read_optional("step", message.step);
  if (in.has("here")) in.read_with("here", message.here, model::position_from);
  model::read_text_optional(in, "who", message.who);
  in.read_optional("ids", message.ids);
  model::limit_list(in, "ids", message.ids, model::kMembersMax);
  model::read_text_optional(in, "text", message.text);
  in.read_optional("speed", message.speed);
  in.read_optional("state", message.state);
  if (in.has("view")) {
    model::View view;
    in.read_with("view", view, model::view_from);
    message.view = std::move(view);
  }
  EDL_TRY(in.finish());
  if (message.kind == Kind::kView && !message.view) {
    return Error{Code::kInvalid, "a message of kind view without one"};
  }
  return message;
}

}  // namespace edl::membership
