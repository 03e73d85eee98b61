#include "edl/os/libraries.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>

namespace edl::os {

void* loaded_function(const std::string& name) { return ::dlsym(RTLD_DEFAULT, name.c_str()); }

std::string library_with(const std::string& function) {
  Dl_info found{};
  void* const address = loaded_function(function);
  if (address == nullptr || ::dladdr(address, &found) == 0 || found.dli_fname == nullptr) return "";
  struct Free {
    void operator()(char* path) const { std::free(path); }
  };
  const std::unique_ptr<char, Free> real(::realpath(found.dli_fname, nullptr));
  return real ? real.get() : found.dli_fname;
}

}  // namespace edl::os
