// Fields that JsonReader does not read by itself: words of closed lists, bounded text and lists,
// measured numbers, digests.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "edl/base/bytes.h"
#include "edl/base/json.h"
#include "edl/model/ids.h"

namespace edl::model {

using Digest = std::array<std::byte, 32>;
using NamedNumbers = std::map<std::string, double>;

// At most kTextMax bytes.
void read_text(JsonReader& in, const char* name, std::string& into);
void read_text_optional(JsonReader& in, const char* name, std::string& into);

template <class T>
void limit_list(JsonReader& in, const char* name, const std::vector<T>& list, std::size_t max) {
  if (list.size() <= max) return;
  in.fail(text("field \"", name, "\" has ", list.size(), " entries; the limit is ", max));
}

// Reads a word with `parse`: std::string_view -> Result<Enum>.
template <class Enum, class Parse>
void read_word(JsonReader& in, const char* name, Enum& into, Parse parse) {
  in.read_with(name, into, [&](const Json& json) -> Result<Enum> {
    if (!json.is_string()) return Error{Code::kInvalid, "expected text"};
    return parse(json.get_ref<const std::string&>());
  });
}

// A number that was measured or summed: JSON knows no infinity and no NaN, so these are the texts
// "inf", "-inf" and "nan". Finite numbers come back with the same bits.
Json number_json(double number);
Result<double> number_from(const Json& json);
Json numbers_json(const NamedNumbers& numbers);
Result<NamedNumbers> numbers_from(const Json& json);

// Lower-case hexadecimal.
Json digest_json(const Digest& digest);
Result<Digest> digest_from(const Json& json);

}  // namespace edl::model
