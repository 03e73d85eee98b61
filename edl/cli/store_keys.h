// Which keys a command means: one, or a range of them.
#pragma once

#include <optional>
#include <string>

#include "edl/cli/command_line.h"

namespace edl::cli {

// At most one of the three is given.
struct KeySelection {
  std::string key{};
  bool prefix = false;
  bool from_key = false;
  std::optional<std::string> range_end{};

  bool is_one() const { return !prefix && !from_key && !range_end; }
  // Fills in the fields of a request.
  template <class Request>
  void apply_to(Request& request) const {
    request.key = first();
    request.range_end = end();
  }

 private:
  std::string first() const;
  std::string end() const;
};

// The options that say so. With `ranges` also those for more than one key.
class KeyOptions {
 public:
  KeyOptions(CLI::App& app, bool ranges);

  bool is_base64() const { return base64_; }
  Result<KeySelection> read() const;

 private:
  KeySelection given_;
  bool base64_ = false;
};

// What was typed, or what it stands for in base64.
Result<std::string> typed_bytes(const std::string& word, bool is_base64);

}  // namespace edl::cli
