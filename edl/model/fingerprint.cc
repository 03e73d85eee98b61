#include "edl/model/fingerprint.h"

#include <array>
#include <string_view>
#include <vector>

#include "edl/base/text.h"
#include "edl/model/limits.h"

namespace edl::model {
namespace {

struct WayOut {
  std::string_view part;
  std::string_view words;
};
// The first of these parts that differs says what to do; the later ones follow from it.
constexpr std::array<WayOut, 5> kWaysOut{{
    {"torch", "Install the same version of torch"},
    {"blas", "Install the same BLAS, and leave OPENBLAS_CORETYPE unset or as it is in the job"},
    {"onednn", "Install the same version of oneDNN, and switch it on or off as in the job"},
    {"threads", "Leave OMP_NUM_THREADS and its like to EDL"},
    {"isa", "A job that is started with --isa=avx2 has the same bits on every machine with AVX2"},
}};
constexpr std::string_view kOtherWayOut =
    "Use the same program, libraries and kind of processor; a job that is started with --isa=avx2 "
    "leaves out what only newer processors have";

std::string part_of(const Fingerprint& fingerprint, const std::string& name) {
  const auto found = fingerprint.find(name);
  return found == fingerprint.end() || found->second.empty() ? "nothing" : found->second;
}

std::string_view way_out(const std::vector<std::string>& names) {
  for (const WayOut& one : kWaysOut) {
    for (const std::string& name : names) {
      if (name == one.part) return one.words;
    }
  }
  return kOtherWayOut;
}

}  // namespace

Result<Fingerprint> fingerprint_from(const Json& json) {
  const Error wrong{Code::kInvalid,
                    text("a fingerprint has at most ", kFingerprintPartsMax,
                         " parts, which are texts of at most ", kTextMax, " bytes")};
  Fingerprint out;
  if (json.is_string()) {
    const auto& whole = json.get_ref<const std::string&>();
    if (whole.size() > kTextMax) return wrong;
    if (!whole.empty()) out["program"] = whole;
    return out;
  }
  if (!json.is_object() || json.size() > kFingerprintPartsMax) return wrong;
  for (const auto& [name, value] : json.items()) {
    if (!value.is_string() || name.size() > kNameMax) return wrong;
    out[name] = value.get<std::string>();
    if (out[name].size() > kTextMax) return wrong;
  }
  return out;
}

std::string fingerprint_difference(const Fingerprint& here, const Fingerprint& job) {
  if (here.empty() || job.empty()) return "";
  Fingerprint names = here;
  names.insert(job.begin(), job.end());
  std::vector<std::string> different;
  for (const auto& [name, value] : names) {
    if (part_of(here, name) != part_of(job, name)) different.push_back(name);
  }
  if (different.empty()) return "";
  if (different.size() > 1) std::erase(different, kKnownPart);
  std::vector<std::string> clauses;
  for (const std::string& name : different) {
    clauses.push_back(text(name == kKnownPart ? "the hash of a known computation" : name, " is ",
                           part_of(here, name), " here, ", part_of(job, name), " in the job"));
  }
  return text("numbers have other bits here: ", list_text(clauses), ". ", way_out(different));
}

}  // namespace edl::model
