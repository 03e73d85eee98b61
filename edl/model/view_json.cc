#include <utility>

#include "edl/base/json_object.h"
#include "edl/model/fields.h"
#include "edl/model/view.h"

namespace edl::model {
namespace {

Json member_json(const Member& member, std::size_t rank) {
  return json_object({{"id", member.id},
                      {"rank", rank},
                      {"address", member.address},
                      {"host", member.host},
                      {"logical", member.logical}});
}

// `place` in the list is the rank; a written rank must agree.
Result<Member> member_from(const Json& json, Rank place) {
  JsonReader in(json, "member");
  Member member;
  Rank rank = place;
  in.read_optional("rank", rank);
  if (rank != place) in.fail(text("rank ", rank, " stands at place ", place, " of the list"));
  read_text(in, "id", member.id);
  read_text_optional(in, "address", member.address);
  read_text_optional(in, "host", member.host);
  in.read("logical", member.logical);
  limit_list(in, "logical", member.logical, kLogicalWorkersMax);
  EDL_TRY(in.finish());
  return member;
}

}  // namespace

void to_json(Json& json, const View& view) {
  Json members = Json::array();
  for (const Member& member : view.members) members.push_back(member_json(member, members.size()));
  json = json_object({{"generation", view.generation},
                      {"lane", view.lane},
                      {"members", std::move(members)},
                      {"first_step", view.first_step},
                      {"epoch", view.epoch},
                      {"position", view.position},
                      {"batch", view.batch},
                      {"lr_factor", view.lr_factor},
                      {"ramp", view.ramp},
                      {"cause", name(view.cause)},
                      {"who", view.who},
                      {"reason", view.reason}});
  if (!view.halt.empty()) json["halt"] = view.halt;
  if (view.replays > 0) json["replays"] = view.replays;
}

void to_json(Json& json, const Crowd& crowd) {
  json = Json{{"generation", crowd.generation}, {"members", crowd.members}};
}

Result<Crowd> crowd_from(const Json& json) {
  JsonReader in(json, "crowd");
  Crowd crowd;
  in.read("generation", crowd.generation);
  in.read("members", crowd.members);
  EDL_TRY(in.finish());
  return crowd;
}

Result<View> view_from(const Json& json) {
  JsonReader in(json, "view");
  View view;
  in.read("generation", view.generation);
  in.read_optional("lane", view.lane);
  Rank place;
  in.read_list("members", view.members, [&](const Json& member) {
    return member_from(member, std::exchange(place, place.next()));
  });
  limit_list(in, "members", view.members, kMembersMax);
  in.read("first_step", view.first_step);
  in.read("epoch", view.epoch);
  in.read("position", view.position);
  in.read_with("batch", view.batch, batch_from);
  in.read_optional("lr_factor", view.lr_factor);
  if (in.has("ramp")) in.read_with("ramp", view.ramp, ramp_from);
  read_word(in, "cause", view.cause, parse_cause);
  read_text(in, "who", view.who);
  read_text(in, "reason", view.reason);
  read_text_optional(in, "halt", view.halt);
  in.read_optional("replays", view.replays);
  EDL_TRY(in.finish());
  EDL_TRY(validate(view));
  return view;
}

}  // namespace edl::model
