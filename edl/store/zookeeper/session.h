// One session with a ZooKeeper ensemble: a handle of libzookeeper with its two threads.
//
// The library calls back on its own threads; each of these callbacks copies what it was given and
// posts it. All else, and every callback of ours, is on the loop. What the library was handed
// (buffers of a multi, the place to call back) stays alive until it has called back or its threads
// are joined: at the end it may forget to call back.
#pragma once

#include <zookeeper/zookeeper.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "edl/os/system.h"
#include "edl/store/message.h"

namespace edl::store::zookeeper {

// What came back, as far as the request asks for it.
struct Answer {
  int rc = ZOK;  // libzookeeper's
  std::string data{};
  std::vector<std::string> names{};  // of children
  Stat stat{};                       // of a multi: that of its last kSet
};
using OnAnswer = std::function<void(const Answer&)>;

// Of a multi: all of its steps happen, or none.
struct Step {
  enum class Kind { kCheck, kCreate, kSet, kDelete };
  Kind kind = Kind::kCheck;
  std::string path{};
  std::string data{};
  int version = -1;        // that the node must have; -1: any
  bool ephemeral = false;  // of kCreate
};

struct SessionOptions {
  std::string hosts{};  // "a:2181,b:2181"
  Duration timeout = 10s;
  std::function<void()> on_connected = [] {};  // the first time, and after each loss
  std::function<void()> on_over = [] {};       // expired: nothing comes from it any more
  std::function<void(const std::string& path)> on_changed = [](const std::string&) {};
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  enum class Watch { kNo, kYes };  // tell on_changed, once, when what was read is so no longer

  static std::shared_ptr<Session> open(os::System& system, SessionOptions options);
  ~Session();
  // Ends the session at the server too, if it can be reached. Joins the library's threads, which
  // takes milliseconds, and at worst 3 s when the server does not read what we send. What is under
  // way is answered with ZCLOSING.
  void close();
  // From now on only this is told.
  void hand_over(std::function<void()> on_over);

  // Destroying the Pending drops the callback. A path that is not there: ZNONODE.
  [[nodiscard]] os::Pending get(const std::string& path, Watch watch, OnAnswer done);
  [[nodiscard]] os::Pending exists(const std::string& path, Watch watch, OnAnswer done);
  [[nodiscard]] os::Pending children(const std::string& path, Watch watch, OnAnswer done);
  // What is read afterwards is not older than this call.
  [[nodiscard]] os::Pending sync(OnAnswer done);
  [[nodiscard]] os::Pending create(const std::string& path, const std::string& data, OnAnswer done);
  [[nodiscard]] os::Pending multi(std::vector<Step> steps, OnAnswer done);

  bool closed() const { return handle_ == nullptr; }
  LeaseId id() const;
  Duration timeout() const;  // as the server granted it

 private:
  struct Gate;  // how the library's threads find the loop
  struct Call;
  class Waiting;

  explicit Session(SessionOptions options);
  void start(os::System& system);
  // The context of a new call, for the library, and the handle for who waits for it.
  Call& add(OnAnswer done);
  os::Pending begun(Call& call, int rc);
  void finish(std::uint64_t id, const Answer& answer);
  void on_event(int type, int state, const std::string& path);

  // These run on the library's threads.
  static void deliver(const void* call, Answer answer);
  static void on_watch(zhandle_t* handle, int type, int state, const char* path, void* gate);
  static void on_data(int rc, const char* value, int size, const Stat* stat, const void* call);
  static void on_stat(int rc, const Stat* stat, const void* call);
  static void on_names(int rc, const String_vector* names, const Stat* stat, const void* call);
  static void on_text(int rc, const char* text, const void* call);
  static void on_multi(int rc, const void* call);

  SessionOptions options_;
  std::unique_ptr<Gate> gate_;
  zhandle_t* handle_ = nullptr;
  std::map<std::uint64_t, std::unique_ptr<Call>> calls_;
  std::uint64_t next_id_ = 1;
};

}  // namespace edl::store::zookeeper
