#include "edl/model/rate.h"

#include <array>

#include "edl/model/words.h"

namespace edl::model {
namespace {

constexpr std::array<std::string_view, 5> kRules{"none", "linear", "sqrt", "piecewise", "lars"};

}  // namespace

std::string_view name(RateRule rule) { return word_of(rule, kRules); }

Result<RateRule> parse_rate_rule(std::string_view word) {
  return parse_word<RateRule>("learning-rate rule", word, kRules);
}

}  // namespace edl::model
