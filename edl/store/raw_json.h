// JSON as it was written, taken apart only as deep as somebody looks. The syntax was checked before
// (json_scanner.h); nothing here can fail.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edl::store {

class RawJson {
 public:
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

  explicit RawJson(std::string_view checked, int depth = 0);

  Kind kind() const;
  const char* kind_name() const;
  // How many objects and arrays it lies in.
  int depth() const { return depth_; }
  // Exactly as written, without space around it.
  std::string_view text() const { return text_; }
  // Of a string: what stands between the quotes, and what it means.
  std::string_view quoted() const { return text_.substr(1, text_.size() - 2); }
  std::string string() const;
  std::vector<RawJson> items() const;
  std::vector<std::pair<std::string, RawJson>> fields() const;

 private:
  std::string_view text_;
  int depth_;
};

}  // namespace edl::store
