// Closed lists of words: the i-th word of a list names the i-th value of its enum.
#pragma once

#include <span>
#include <string_view>

#include "edl/base/result.h"

namespace edl::model {

using Words = std::span<const std::string_view>;

// `what` is what the list is of, for the sentence that refuses a word: "cause".
Result<std::size_t> find_word(std::string_view what, std::string_view word, Words words);

template <class Enum>
Result<Enum> parse_word(std::string_view what, std::string_view word, Words words) {
  EDL_TRY(const std::size_t index, find_word(what, word, words));
  return static_cast<Enum>(index);
}

template <class Enum>
std::string_view word_of(Enum value, Words words) {
  const auto index = static_cast<std::size_t>(value);
  EDL_CHECK(index < words.size());
  return words[index];
}

}  // namespace edl::model
