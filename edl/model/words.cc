#include "edl/model/words.h"

#include <algorithm>
#include <string>
#include <vector>

#include "edl/base/text.h"
#include "edl/model/ids.h"

namespace edl::model {

Result<std::size_t> find_word(std::string_view what, std::string_view word, Words words) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  const std::string_view shown = word.substr(0, kNameMax);
  const std::vector<std::string> known(words.begin(), words.end());
  const std::string meant = closest(shown, known);
  const std::string hint = meant.empty() ? "" : text(" Did you mean ", meant, "?");
  return Error{Code::kInvalid, text("there is no ", what, " \"", shown, "\": it is one of ",
                                    list_text(known), ".", hint)};
}

}  // namespace edl::model
