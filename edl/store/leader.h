// The leader of something, in one key that is never deleted: each leader has a larger ballot than
// the one before. Who leads is who holds the largest ballot; whether he lives is another question.
#pragma once

#include "edl/store/store.h"

namespace edl::store {

struct Leadership {
  std::uint64_t ballot = 0;  // 0: there was none yet
  std::string id{};          // of the leader
  std::string claim{};       // made up for this ballot, to know one's own success again
  Revision revision = 0;     // of the key; 0: it does not exist
};

std::string leadership_text(const Leadership& leadership);
Result<Leadership> read_leadership(const KeyValue& kv);

class LeaderKey {
 public:
  LeaderKey(Store& store, std::string key) : store_(store), key_(std::move(key)) {}

  [[nodiscard]] os::Pending find(Done<Leadership> done);

  // Takes the lead after `before`, unless somebody else has done so; answers who leads now. He is
  // ours when `id` and the ballot after `before` are his.
  [[nodiscard]] os::Pending take(const std::string& id, const Leadership& before, Duration limit,
                                 Done<Leadership> done);

 private:
  Store& store_;
  const std::string key_;
};

}  // namespace edl::store
