// What `edl status` says of a job: from its store while it runs, else from its events. Plain
// functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edl/agent/event_log.h"
#include "edl/agent/launch.h"
#include "edl/agent/picture.h"

namespace edl::cli {

// The last word of a job's events on everything.
struct JobStory {
  Json started{};
  Json view{};
  Json step{};
  Json checkpoint{};
  Json end{};  // `finished` or `failed`
  std::map<std::string, Json> workers{};

  void take(const Json& event);
  // The end as the store's key `result` tells it; null while the job goes on.
  Json result() const;
};

struct StatusFacts {
  std::string job{};
  std::optional<agent::Launch> launch{};
  std::optional<agent::JobPicture> picture{};  // when the store answered
  std::string problem{};                       // why it did not, when it should have
  std::vector<std::string> urls{};
  JobStory story{};
};

agent::OrderedJson status_report(const StatusFacts& facts);
// The same for people.
std::string status_text(const agent::OrderedJson& report);

}  // namespace edl::cli
