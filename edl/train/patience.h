// When the program is taken to hang: it works at the same part, or at the same update, for longer
// than the limit. Counted in seconds in which this process ran itself, so that nobody is blamed who
// was stopped, or whose machine slept. Plain state.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "edl/base/time.h"
#include "edl/model/ids.h"

namespace edl::train {

// What the training thread works at: a part, or what is not one part's, like an update.
struct Doing {
  model::Step step;
  std::optional<model::LogicalWorker> v;

  bool operator==(const Doing&) const = default;
};

class Patience {
 public:
  // `auto`, `off` or a time such as 30s. Under `auto` the limit follows from the longest part so
  // far.
  static Result<Patience> make(std::string_view rule);
  Patience() = default;  // auto

  // The worker is to end: from now on it takes this long for what lasts, or twice the longest so
  // far.
  void hurry(Duration grace);
  // To be called once a second. How long it has been at the same work, when that is too long.
  std::optional<Duration> second(const std::optional<Doing>& doing);

  bool is_hurried() const { return hurried_.has_value(); }

 private:
  std::uint64_t limit() const;

  bool is_off_ = false;
  std::optional<std::uint64_t> hurried_{};  // seconds
  std::optional<std::uint64_t> given_{};    // seconds
  std::optional<std::uint64_t> longest_{};  // seconds, of what was done so far
  std::optional<Doing> doing_{};
  std::uint64_t lasted_ = 0;  // seconds
};

}  // namespace edl::train
