// Text on its way out: collected until it is worth a write. When it cannot be written any more (the
// reader has gone, the disk is full), the rest is dropped and `open` says so.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "edl/base/result.h"

namespace edl::cli {

class Output {
 public:
  // kUnavailable: the reader has gone.
  using Write = std::function<Result<void>(std::string_view)>;

  explicit Output(Write write) : write_(std::move(write)) {}

  void add(std::string_view text);
  void flush();

  // False when going on is of no use.
  bool open() const { return state_.ok(); }
  // What went wrong. A reader that has gone had enough: that is nothing wrong.
  Result<void> state() const;

 private:
  Write write_;
  std::string collected_;
  Result<void> state_;
};

}  // namespace edl::cli
