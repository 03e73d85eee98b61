// The shared libraries that this process has loaded.
#pragma once

#include <string>

namespace edl::os {

// The file of the library whose function of this name calls reach, without symbolic links; empty
// when nothing that is loaded has one.
std::string library_with(const std::string& function);

// Its address; null when there is none.
void* loaded_function(const std::string& name);

}  // namespace edl::os
