// Fields of JSON that somebody else wrote: what is missing, or is of another type, is empty or 0.
#pragma once

#include <cstdint>
#include <string>

namespace edl::agent {

template <class Object>  // Json or OrderedJson
std::string word(const Object& json, const char* name) {
  const auto found = json.is_object() ? json.find(name) : json.end();
  return found != json.end() && found->is_string() ? found->template get<std::string>() : "";
}

template <class Object>
std::uint64_t number(const Object& json, const char* name) {
  const auto found = json.is_object() ? json.find(name) : json.end();
  if (found == json.end() || !found->is_number_integer() || *found < 0) return 0;
  return found->template get<std::uint64_t>();
}

}  // namespace edl::agent
