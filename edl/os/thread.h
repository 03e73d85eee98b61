// A named thread that is joined when it is destroyed.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace edl::os {

class Thread {
 public:
  // The name is cut to 15 letters, which is what the kernel shows.
  Thread(std::string name, std::function<void()> body);
  ~Thread();
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

 private:
  std::thread thread_;
};

// Threads of this process; what a fork must check before it forks.
int thread_count();

}  // namespace edl::os
