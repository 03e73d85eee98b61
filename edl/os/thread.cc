#include "edl/os/thread.h"

#include <dirent.h>
#include <pthread.h>

#include <utility>

#include "edl/base/check.h"

namespace edl::os {

Thread::Thread(std::string name, std::function<void()> body)
    : thread_([name = name.substr(0, 15), body = std::move(body)] {
        ::pthread_setname_np(::pthread_self(), name.c_str());
        body();
      }) {}

Thread::~Thread() { thread_.join(); }

int thread_count() {
  DIR* tasks = ::opendir("/proc/self/task");
  EDL_CHECK(tasks != nullptr, "/proc is not mounted");
  int count = 0;
  while (const dirent* entry = ::readdir(tasks)) count += entry->d_name[0] != '.' ? 1 : 0;
  ::closedir(tasks);
  return count;
}

}  // namespace edl::os
