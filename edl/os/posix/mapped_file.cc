#include "edl/os/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "edl/base/text.h"
#include "edl/os/posix/descriptor.h"

namespace edl::os {

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  // Not blocking: a pipe without a writer would keep us here, and is refused below.
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor.valid()) return os_error(errno, text("open ", path));
  struct stat status {};
  if (::fstat(descriptor.number(), &status) != 0) return os_error(errno, text("look at ", path));
  if (!S_ISREG(status.st_mode)) {
    return Error{Code::kInvalid, text("cannot read ", path, ": it is not a file")};
  }
  const auto length = static_cast<std::size_t>(status.st_size);
  ConstBytes bytes;
  if (length > 0) {  // nothing cannot be mapped
    void* at = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor.number(), 0);
    if (at == MAP_FAILED) return os_error(errno, text("map ", length, " bytes of ", path));
    bytes = {static_cast<const std::byte*>(at), length};
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(bytes));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace edl::os
