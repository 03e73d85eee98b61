// The keys of a job in the store, and what is in them: docs/reference/job.md.
#pragma once

#include <string>

#include "edl/base/json.h"
#include "edl/membership/core.h"

namespace edl::membership {

class JobKeys {
 public:
  explicit JobKeys(const std::string& job) : prefix_("/edl/v1/jobs/" + job + "/") {}

  const std::string& prefix() const { return prefix_; }
  std::string spec() const { return prefix_ + "spec"; }
  std::string wanted() const { return prefix_ + "wanted"; }
  std::string leader() const { return prefix_ + "leader"; }
  std::string view() const { return prefix_ + "view"; }
  std::string change() const { return prefix_ + "change"; }
  std::string checkpoint() const { return prefix_ + "checkpoint"; }
  std::string save() const { return prefix_ + "save"; }
  std::string replace() const { return prefix_ + "replace"; }
  std::string progress() const { return prefix_ + "progress"; }
  std::string result() const { return prefix_ + "result"; }
  std::string member(const std::string& id) const { return prefix_ + "members/" + id; }
  std::string complaint(model::Ballot ballot, const std::string& id) const {
    return text(prefix_, "accuse/", ballot, "/", id);
  }

 private:
  std::string prefix_;
};

struct WorkerKey {
  model::WorkerId id{};
  std::string address{};
  std::string host{};
  std::int64_t pid = 0;
  std::string state{};
  std::string reason{};
};
void to_json(Json& json, const WorkerKey& worker);
Result<WorkerKey> worker_key_from(const Json& json);

void to_json(Json& json, const Wanted& wanted);
Result<Wanted> wanted_from(const Json& json);

}  // namespace edl::membership
