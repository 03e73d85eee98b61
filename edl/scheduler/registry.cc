#include <algorithm>
#include <array>

#include "edl/base/text.h"
#include "edl/scheduler/policies/all.h"
#include "edl/scheduler/policy.h"

namespace edl::scheduler {
namespace {

constexpr std::array<const Policy*, 10> kPolicies = {
    &kFifo, &kSrtf, &kTiresias, &kTiresiasElastic, &kOptimus, &kAfs, &kEdl, &kWfs, &kPollux, &kOurs,
};

}  // namespace

std::span<const Policy* const> policies() { return kPolicies; }

Result<const Policy*> find_policy(std::string_view name) {
  std::vector<std::string> known;
  for (const Policy* policy : kPolicies) {
    if (policy->name == name) return policy;
    known.emplace_back(policy->name);
  }
  const std::string meant = closest(name, known);
  return Error{Code::kInvalid, text("there is no policy \"", name, "\"",
                                    meant.empty() ? "" : text("; did you mean ", meant, "?"),
                                    "; the policies are ", list_text(known))};
}

}  // namespace edl::scheduler
