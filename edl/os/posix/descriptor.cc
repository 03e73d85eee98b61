#include "edl/os/posix/descriptor.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "edl/base/text.h"

namespace edl::os {
namespace {

Code code_of(int number) {
  switch (number) {
    case ENOENT:
    case ESRCH:
      return Code::kNotFound;
    case EEXIST:
    case ENOTEMPTY:
    case EADDRINUSE:
    case EWOULDBLOCK:
      return Code::kConflict;
    case ETIMEDOUT:
      return Code::kTimeout;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EFBIG:
      return Code::kExhausted;
    case EINVAL:
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case ENOEXEC:
      return Code::kInvalid;
    default:
      return Code::kUnavailable;
  }
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    number_ = other.release();
  }
  return *this;
}

int Descriptor::release() { return std::exchange(number_, -1); }

void Descriptor::reset() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

Error os_error(int number, std::string_view what) {
  const std::string reason = std::system_category().message(number);
  return {code_of(number), text("cannot ", what, ": ", reason)};
}

}  // namespace edl::os
