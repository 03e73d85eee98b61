#include "edl/store/leader.h"

#include "edl/base/json.h"
#include "edl/store/settle.h"

namespace edl::store {
namespace {

std::string new_claim(os::System& system) {
  std::array<std::byte, 8> chance{};
  system.fill_random(chance);
  return hex(chance);
}

}  // namespace

std::string leadership_text(const Leadership& leadership) {
  return json_line(
      {{"ballot", leadership.ballot}, {"id", leadership.id}, {"claim", leadership.claim}});
}

Result<Leadership> read_leadership(const KeyValue& kv) {
  EDL_TRY(const Json json, parse_json(kv.value));
  Leadership leadership{.revision = kv.mod_revision};
  JsonReader in(json, text("leader in ", kv.key));
  in.read("ballot", leadership.ballot);
  in.read("id", leadership.id);
  in.read("claim", leadership.claim);
  EDL_TRY(in.finish());
  return leadership;
}

os::Pending LeaderKey::find(Done<Leadership> done) {
  return store_.find(key_, [done = std::move(done)](Result<std::optional<KeyValue>> found) {
    if (!found.ok()) return done(found.error());
    if (!*found) return done(Leadership());
    done(read_leadership(**found));
  });
}

os::Pending LeaderKey::take(const std::string& id, const Leadership& before, Duration limit,
                            Done<Leadership> done) {
  Leadership ours{
      .ballot = before.ballot + 1, .id = id, .claim = new_claim(store_.system()), .revision = 0};
  Change change{.conditions = {{key_, before.revision}},
                .puts = {{key_, leadership_text(ours), 0}}};
  return settle(store_, std::move(change), key_, limit,
                [ours, done = std::move(done)](Result<Settled> settled) mutable {
                  if (!settled.ok()) return done(settled.error());
                  ours.revision = settled->revision;
                  if (settled->happened) return done(ours);
                  if (!settled->stored) {
                    return done(Error{Code::kConflict, "the leader's key was deleted"});
                  }
                  done(read_leadership(*settled->stored));
                });
}

}  // namespace edl::store
