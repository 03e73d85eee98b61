// JSON without exceptions: bounded parsing, and reading of objects into plain types with sentences
// that name what is wrong and where.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edl/base/number.h"
#include "edl/base/result.h"
#include "edl/base/text.h"

// Compiled once, in json.cc.
extern template class nlohmann::basic_json<>;

namespace edl {

using Json = nlohmann::json;

struct JsonLimits {
  std::size_t bytes_max = 1 << 20;
  int depth_max = 32;
};

Result<Json> parse_json(std::string_view text, JsonLimits limits = {});

// One line, no spaces. Text that is not UTF-8 is replaced, never thrown about.
std::string json_line(const Json& json);

// Reads the fields of one object. The first thing that is wrong is kept; `finish` tells it.
//   JsonReader in(json, "view");
//   in.read("generation", view.generation);
//   EDL_TRY(in.finish());
class JsonReader {
 public:
  JsonReader(const Json& json, std::string what);

  template <class T>
  void read(const char* name, T& into) {
    if (const Json* value = require(name)) convert(name, *value, into);
  }
  // Leaves `into` as it is when the field is absent.
  template <class T>
  void read_optional(const char* name, T& into) {
    if (const Json* value = find(name)) convert(name, *value, into);
  }
  // Reads with a function Json -> Result<T>, for objects within objects.
  template <class T, class Parse>
  void read_with(const char* name, T& into, Parse parse) {
    if (const Json* value = require(name)) accept(name, parse(*value), into);
  }
  template <class T, class Parse>
  void read_list(const char* name, std::vector<T>& into, Parse parse) {
    const Json* value = require(name);
    if (value == nullptr || !check_array(name, *value)) return;
    for (const Json& item : *value) {
      if (error_) return;
      accept(name, parse(item), into.emplace_back());
    }
  }

  bool has(const char* name) { return find(name) != nullptr; }
  void fail(std::string_view problem);
  Result<void> finish() const;

 private:
  const Json* find(const char* name);
  const Json* require(const char* name);
  bool check_array(const char* name, const Json& value);
  void wrong_type(const char* name, std::string_view wanted);

  template <class T>
  void accept(const char* name, Result<T> result, T& into) {
    if (result.ok()) {
      into = std::move(result).value();
    } else {
      fail(text("field \"", name, "\": ", result.error().message));
    }
  }

  void convert(const char* name, const Json& value, std::string& into);
  void convert(const char* name, const Json& value, bool& into);
  void convert(const char* name, const Json& value, double& into);
  void convert(const char* name, const Json& value, Json& into) {
    (void)name;
    into = value;
  }
  template <std::integral Int>
  void convert(const char* name, const Json& value, Int& into) {
    const std::int64_t low = static_cast<std::int64_t>(std::numeric_limits<Int>::min());
    const std::uint64_t high = static_cast<std::uint64_t>(std::numeric_limits<Int>::max());
    if (const auto wide = integer(name, value, low, high)) into = static_cast<Int>(*wide);
  }
  template <class Tag, class Int>
  void convert(const char* name, const Json& value, Number<Tag, Int>& into) {
    Int number{};
    convert(name, value, number);
    into = Number<Tag, Int>(number);
  }
  template <class T>
  void convert(const char* name, const Json& value, std::optional<T>& into) {
    convert(name, value, into.emplace());
  }
  template <class T>
  void convert(const char* name, const Json& value, std::vector<T>& into) {
    if (!check_array(name, value)) return;
    into.clear();
    for (const Json& item : value) {
      T element{};
      convert(name, item, element);
      if (error_) return;
      into.push_back(std::move(element));
    }
  }
  // The integer's bits (two's complement when negative), when it lies within the bounds.
  std::optional<std::uint64_t> integer(const char* name, const Json& value, std::int64_t low,
                                       std::uint64_t high);

  const Json& json_;
  std::string what_;
  std::optional<Error> error_;
};

template <class Tag, class Int>
void to_json(Json& json, const Number<Tag, Int>& number) {
  json = number.value();
}

}  // namespace edl
