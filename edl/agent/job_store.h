// What an agent writes to the store. Every call is tried until it is known to have happened,
// however long the store is away; only a store that is another one than before ends that.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "edl/agent/picture.h"
#include "edl/store/store.h"

namespace edl::agent {

class JobStore {
 public:
  using OnFailed = std::function<void(const Error&)>;
  using Edit = std::function<void(Wanted&)>;

  // `on_failed` is told what no repetition can mend.
  JobStore(store::Store& store, const std::string& job, OnFailed on_failed);

  // All keys of the job, as they are now.
  void look(std::function<void(const JobPicture&)> done);
  // Answers whether the conditions held.
  void change(const store::Change& change, std::function<void(bool happened)> done);
  void put(const std::string& name, const Json& value);
  void put_if_absent(const std::string& name, const Json& value, std::function<void()> done);
  void remove(const std::string& name);
  // Changes what is wanted, whoever else does so at the same time.
  void edit_wanted(const Edit& edit, std::function<void()> done);
  // Names for so many workers, never given before to anybody: w1, w2, ...
  void take_ids(std::uint32_t count, std::function<void(std::vector<std::string>)> done);

  std::string key(const std::string& name) const { return prefix_ + name; }

 private:
  // Runs `call` now and after each failure until it succeeds.
  template <class T>
  void persist(std::function<os::Pending(store::Done<T>)> call, std::function<void(T)> done);
  template <class T>
  void attempt(std::uint64_t number, std::function<os::Pending(store::Done<T>)> call,
               std::function<void(T)> done);

  store::Store& store_;
  const std::string prefix_;
  const OnFailed on_failed_;
  std::uint64_t calls_made_ = 0;
  std::map<std::uint64_t, os::Pending> calls_;
};

}  // namespace edl::agent
