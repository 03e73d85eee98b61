// What happened in a virtual world: a hash over everything, lines for people when they are wanted,
// and how often each fault and each state of a protocol was hit.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "edl/base/time.h"

namespace edl::os {

class Trace {
 public:
  using Listener = std::function<void(Time, std::string_view who, std::string_view line)>;

  // Equal for two runs exactly when they did the same things at the same times.
  std::uint64_t hash() const { return hash_; }
  void listen(Listener listener) { listener_ = std::move(listener); }
  bool has_listener() const { return listener_ != nullptr; }

  void number(std::uint64_t value);
  void line(Time time, std::string_view who, std::string_view line);

  void hit(std::string_view name, std::uint64_t times = 1);
  const std::map<std::string, std::uint64_t, std::less<>>& hits() const { return hits_; }

 private:
  std::uint64_t hash_ = 0;
  Listener listener_;
  std::map<std::string, std::uint64_t, std::less<>> hits_;
};

}  // namespace edl::os
