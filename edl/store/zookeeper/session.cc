#include "edl/store/zookeeper/session.h"

#include <algorithm>
#include <chrono>

namespace edl::store::zookeeper {
namespace {

int watch_flag(Session::Watch watch) { return watch == Session::Watch::kYes ? 1 : 0; }

}  // namespace

struct Session::Gate {
  os::System& system;
  std::weak_ptr<Session> session;
};

struct Session::Call {
  const Gate* gate = nullptr;
  std::uint64_t id = 0;
  OnAnswer done{};  // of the loop
  // What a multi reads from and writes to.
  std::vector<Step> steps{};
  std::vector<zoo_op_t> operations{};
  std::vector<zoo_op_result_t> results{};
  std::vector<Stat> stats{};
};

class Session::Waiting final : public os::Pending::Operation {
 public:
  Waiting(std::weak_ptr<Session> session, std::uint64_t id)
      : session_(std::move(session)), id_(id) {}
  ~Waiting() override {
    const auto session = session_.lock();
    if (!session) return;
    const auto call = session->calls_.find(id_);
    if (call != session->calls_.end()) call->second->done = nullptr;
  }

 private:
  std::weak_ptr<Session> session_;
  std::uint64_t id_;
};

Session::Session(SessionOptions options) : options_(std::move(options)) {}

std::shared_ptr<Session> Session::open(os::System& system, SessionOptions options) {
  std::shared_ptr<Session> session(new Session(std::move(options)));
  session->start(system);
  return session;
}

void Session::start(os::System& system) {
  gate_ = std::make_unique<Gate>(Gate{system, weak_from_this()});
  const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(options_.timeout).count();
  handle_ = zookeeper_init2(options_.hosts.c_str(), on_watch, static_cast<int>(timeout), nullptr,
                            gate_.get(), 0, [](const char*) {});
  if (handle_ == nullptr) {
    system.post([session = weak_from_this()] {
      if (const auto alive = session.lock()) {
        alive->on_event(ZOO_SESSION_EVENT, ZOO_EXPIRED_SESSION_STATE, {});
      }
    });
  }
}

Session::~Session() { close(); }

void Session::hand_over(std::function<void()> on_over) {
  options_.on_connected = [] {};
  options_.on_changed = [](const std::string&) {};
  options_.on_over = std::move(on_over);
}

void Session::close() {
  hand_over([] {});
  if (handle_ == nullptr) return;
  zookeeper_close(std::exchange(handle_, nullptr));
  // The library does not call back for all; who was told already is not in `calls_` by then.
  gate_->system.post([session = weak_from_this()] {
    const auto alive = session.lock();
    while (alive && !alive->calls_.empty()) {
      alive->finish(alive->calls_.begin()->first, Answer{.rc = ZCLOSING});
    }
  });
}

Session::Call& Session::add(OnAnswer done) {
  const std::uint64_t id = next_id_++;
  auto& call = calls_[id] = std::make_unique<Call>();
  call->gate = gate_.get();
  call->id = id;
  call->done = std::move(done);
  return *call;
}

os::Pending Session::begun(Call& call, int rc) {
  if (rc != ZOK) deliver(&call, Answer{.rc = rc});  // the library does not call back
  return os::Pending(std::make_unique<Waiting>(weak_from_this(), call.id));
}

void Session::finish(std::uint64_t id, const Answer& answer) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  const auto call = std::move(found->second);
  calls_.erase(found);
  if (call->done) call->done(answer);
}

void Session::deliver(const void* context, Answer answer) {
  const Call& call = *static_cast<const Call*>(context);
  call.gate->system.post([session = call.gate->session, id = call.id, answer = std::move(answer)] {
    if (const auto alive = session.lock()) alive->finish(id, answer);
  });
}

void Session::on_watch(zhandle_t*, int type, int state, const char* path, void* context) {
  const Gate& gate = *static_cast<const Gate*>(context);
  gate.system.post([session = gate.session, type, state, path = std::string(path ? path : "")] {
    if (const auto alive = session.lock()) alive->on_event(type, state, path);
  });
}

void Session::on_event(int type, int state, const std::string& path) {
  if (type != ZOO_SESSION_EVENT) {
    const auto told = options_.on_changed;  // it may close us
    return told(path);
  }
  if (state == ZOO_CONNECTED_STATE) {
    const auto told = options_.on_connected;
    told();
  } else if (state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE) {
    const auto told = options_.on_over;
    told();
  }
}

void Session::on_data(int rc, const char* value, int size, const Stat* stat, const void* call) {
  Answer answer{.rc = rc};
  if (value != nullptr && size > 0) answer.data.assign(value, static_cast<std::size_t>(size));
  if (stat != nullptr) answer.stat = *stat;
  deliver(call, std::move(answer));
}

void Session::on_stat(int rc, const Stat* stat, const void* call) {
  Answer answer{.rc = rc};
  if (stat != nullptr) answer.stat = *stat;
  deliver(call, std::move(answer));
}

void Session::on_names(int rc, const String_vector* names, const Stat* stat, const void* call) {
  Answer answer{.rc = rc};
  for (int i = 0; names != nullptr && i < names->count; ++i) {
    answer.names.emplace_back(names->data[i]);
  }
  if (stat != nullptr) answer.stat = *stat;
  deliver(call, std::move(answer));
}

void Session::on_text(int rc, const char*, const void* call) { deliver(call, Answer{.rc = rc}); }

void Session::on_multi(int rc, const void* context) {
  const Call& call = *static_cast<const Call*>(context);
  Answer answer{.rc = rc};
  for (std::size_t i = 0; i < call.steps.size(); ++i) {
    const int error = call.results[i].err;
    // The steps beside the one that failed are told to be inconsistent.
    if (rc != ZOK && error != ZOK && error != ZRUNTIMEINCONSISTENCY) answer.rc = error;
    if (rc == ZOK && call.steps[i].kind == Step::Kind::kSet) answer.stat = call.stats[i];
  }
  deliver(context, std::move(answer));
}

os::Pending Session::get(const std::string& path, Watch watch, OnAnswer done) {
  Call& call = add(std::move(done));
  return begun(call, zoo_aget(handle_, path.c_str(), watch_flag(watch), on_data, &call));
}

os::Pending Session::exists(const std::string& path, Watch watch, OnAnswer done) {
  Call& call = add(std::move(done));
  return begun(call, zoo_aexists(handle_, path.c_str(), watch_flag(watch), on_stat, &call));
}

os::Pending Session::children(const std::string& path, Watch watch, OnAnswer done) {
  Call& call = add(std::move(done));
  return begun(call, zoo_aget_children2(handle_, path.c_str(), watch_flag(watch), on_names, &call));
}

os::Pending Session::sync(OnAnswer done) {
  Call& call = add(std::move(done));
  return begun(call, zoo_async(handle_, "/", on_text, &call));
}

os::Pending Session::create(const std::string& path, const std::string& data, OnAnswer done) {
  Call& call = add(std::move(done));
  return begun(call, zoo_acreate(handle_, path.c_str(), data.data(), static_cast<int>(data.size()),
                                 &ZOO_OPEN_ACL_UNSAFE, 0, on_text, &call));
}

os::Pending Session::multi(std::vector<Step> steps, OnAnswer done) {
  Call& call = add(std::move(done));
  call.steps = std::move(steps);
  call.operations.resize(call.steps.size());
  call.results.resize(call.steps.size());
  call.stats.resize(call.steps.size());
  for (std::size_t i = 0; i < call.steps.size(); ++i) {
    const Step& step = call.steps[i];
    zoo_op_t* to = &call.operations[i];
    const char* path = step.path.c_str();
    const int size = static_cast<int>(step.data.size());
    switch (step.kind) {
      case Step::Kind::kCheck:
        zoo_check_op_init(to, path, step.version);
        break;
      case Step::Kind::kDelete:
        zoo_delete_op_init(to, path, step.version);
        break;
      case Step::Kind::kSet:
        zoo_set_op_init(to, path, step.data.data(), size, step.version, &call.stats[i]);
        break;
      case Step::Kind::kCreate:
        zoo_create_op_init(to, path, step.data.data(), size, &ZOO_OPEN_ACL_UNSAFE,
                           step.ephemeral ? ZOO_EPHEMERAL : 0, nullptr, 0);
        break;
    }
  }
  return begun(call, zoo_amulti(handle_, static_cast<int>(call.steps.size()),
                                call.operations.data(), call.results.data(), on_multi, &call));
}

LeaseId Session::id() const { return handle_ == nullptr ? 0 : zoo_client_id(handle_)->client_id; }

Duration Session::timeout() const {
  return std::chrono::milliseconds(handle_ == nullptr ? 0 : zoo_recv_timeout(handle_));
}

}  // namespace edl::store::zookeeper
