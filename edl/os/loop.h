// A System whose loop is run by whoever holds it: for mains, and for code that has nothing to do
// but to wait for what it asked for.
#pragma once

#include "edl/os/system.h"

namespace edl::os {

class LoopSystem : public System {
 public:
  // Runs callbacks until `finish`; answers its code. Called again, it goes on where it stopped.
  virtual int run() = 0;
};

}  // namespace edl::os
