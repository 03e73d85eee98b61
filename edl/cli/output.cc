#include "edl/cli/output.h"

namespace edl::cli {
namespace {

constexpr std::size_t kWriteBytes = 64 * 1024;

}  // namespace

void Output::add(std::string_view text) {
  collected_ += text;
  if (collected_.size() >= kWriteBytes) flush();
}

void Output::flush() {
  if (state_.ok() && !collected_.empty()) state_ = write_(collected_);
  collected_.clear();
}

Result<void> Output::state() const {
  if (state_.ok() || state_.error().code == Code::kUnavailable) return {};
  return state_;
}

}  // namespace edl::cli
