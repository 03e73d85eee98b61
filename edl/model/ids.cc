#include "edl/model/ids.h"

#include "edl/base/text.h"

namespace edl::model {
namespace {

bool letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool well_formed(std::string_view name) {
  if (name.empty() || name.size() > kNameMax || !letter_or_digit(name[0])) return false;
  for (const char c : name) {
    if (!letter_or_digit(c) && c != '.' && c != '-') return false;
  }
  return true;
}

}  // namespace

Result<void> validate_name(std::string_view what, std::string_view name) {
  if (well_formed(name)) return {};
  return Error{Code::kInvalid,
               text("\"", name.substr(0, kNameMax), name.size() > kNameMax ? "..." : "",
                    "\" cannot be the name of a ", what, ": use 1 to ", kNameMax,
                    " lower-case letters, digits, '.' and '-', beginning with a letter or digit")};
}

}  // namespace edl::model
