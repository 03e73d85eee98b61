#include "edl/os/posix/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "edl/base/text.h"

namespace edl::os {
namespace {

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

Result<ByteSpan> map(int descriptor, std::size_t bytes, int protection) {
  void* at = ::mmap(nullptr, bytes, protection, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  if (at == MAP_FAILED) return os_error(errno, text("map ", bytes, " bytes of shared memory"));
  return ByteSpan(static_cast<std::byte*>(at), bytes);
}

}  // namespace

Result<std::unique_ptr<PosixMemory>> PosixMemory::make(std::size_t bytes) {
  if (bytes == 0) return Error{Code::kInvalid, "cannot make shared memory of 0 bytes"};
  Descriptor descriptor(::memfd_create("edl", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor.valid()) return os_error(errno, "make shared memory");
  // Allocated now, so that a lack of memory is an answer here and not a SIGBUS later.
  const int failed = ::posix_fallocate(descriptor.number(), 0, static_cast<off_t>(bytes));
  if (failed != 0) return os_error(failed, text("allocate ", bytes, " bytes of shared memory"));
  // Mapped before it is sealed: our mapping stays writable, later ones can only read.
  EDL_TRY(const ByteSpan mapping, map(descriptor.number(), bytes, PROT_READ | PROT_WRITE));
  if (::fcntl(descriptor.number(), F_ADD_SEALS, kSeals) != 0) {
    const int number = errno;
    ::munmap(mapping.data(), mapping.size());
    return os_error(number, "seal shared memory");
  }
  return std::unique_ptr<PosixMemory>(new PosixMemory(std::move(descriptor), mapping, true));
}

Result<std::unique_ptr<PosixMemory>> PosixMemory::received(Descriptor descriptor) {
  const int seals = ::fcntl(descriptor.number(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return Error{Code::kInvalid, "refused shared memory that its sender could still shrink"};
  }
  struct stat status {};
  if (::fstat(descriptor.number(), &status) != 0) return os_error(errno, "look at shared memory");
  const auto bytes = static_cast<std::size_t>(status.st_size);
  EDL_TRY(const ByteSpan mapping, map(descriptor.number(), bytes, PROT_READ));
  return std::unique_ptr<PosixMemory>(new PosixMemory(std::move(descriptor), mapping, false));
}

// PID/DESCRIPTOR, as the kernel names them in /proc: only processes of the same user get in there.
std::string PosixMemory::place() const {
  return ours_ ? text(::getpid(), "/", descriptor()) : std::string();
}

Result<std::unique_ptr<PosixMemory>> PosixMemory::found(const std::string& place) {
  const std::vector<std::string_view> words = split(place, '/');
  const auto is_number = [](std::string_view word) {
    return !word.empty() && word.size() <= 10 &&
           word.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (words.size() != 2 || !is_number(words[0]) || !is_number(words[1])) {
    return Error{Code::kInvalid, "the place of shared memory is not PID/DESCRIPTOR"};
  }
  const std::string path = text("/proc/", words[0], "/fd/", words[1]);
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!descriptor.valid()) return os_error(errno, text("open shared memory ", place));
  return received(std::move(descriptor));
}

PosixMemory::~PosixMemory() { ::munmap(mapping_.data(), mapping_.size()); }

}  // namespace edl::os
