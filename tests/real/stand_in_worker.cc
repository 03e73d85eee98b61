// A worker that trains nothing, for tests of agents and of the commands around them. It speaks the
// frames and writes the keys of docs/reference/job.md truthfully: it registers, the lowest of those
// alive leads, makes views and counts steps in `progress`, and whoever is asked to report reports.
//   stand_in_worker [--step-ms=N] [--load=PIPE] [--fail-at=STEP]
#include <csignal>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iostream>
#include <set>

#include "edl/agent/picture.h"
#include "edl/model/assignment.h"
#include "edl/model/fault.h"
#include "edl/os/posix/fork_server.h"
#include "edl/os/posix/machine.h"
#include "edl/os/posix/system.h"
#include "edl/store/etcd_store.h"
#include "edl/store/registration.h"
#include "edl/train/parent_frame.h"
#include "edl/wire/frame.h"
#include "edl/wire/parser.h"

namespace edl {
namespace {

using train::ParentFrame;

std::uint64_t id_number(const std::string& id) { return std::stoull(id.substr(1)); }

struct Behaviour {
  int step_ms = 20;
  std::string load{};  // a pipe that must be opened before it can be forked
  std::uint64_t fail_at = 0;
};

class StandInWorker {
 public:
  StandInWorker(os::PosixSystem& system, Behaviour behaviour)
      : system_(system), behaviour_(behaviour), parser_(wire::Limits{}) {
    system_.on_signal(os::Signal::kTerminate, [this] { leave("It got SIGTERM.", "preempt"); });
    read();
  }

  void send(
      ParentFrame type, const Json& body, os::Task done = [] {}) {
    wire::Header header;
    header.type = static_cast<std::uint32_t>(type);
    const std::string sealed = wire::seal(header, body, 0);
    const wire::HeaderBytes head = wire::encode(header);
    auto bytes = std::make_shared<std::string>(text_of(head));
    *bytes += sealed;
    sending_.emplace_back(bytes, std::move(done));
    if (sending_.size() == 1) write();
  }

 private:
  void write() {
    const ConstBytes piece = bytes_of(*sending_.front().first);
    system_.processes().parent()->write(std::span(&piece, 1), [this](const Result<void>&) {
      const os::Task done = sending_.front().second;
      sending_.pop_front();
      done();
      if (!sending_.empty()) write();
    });
  }

  void read() {
    system_.processes().parent()->read(parser_.space(), [this](const Result<std::size_t>& got) {
      if (!got.ok() || *got == 0) return leave("Its agent is gone.", "preempt");
      parser_.filled(*got);
      while (true) {
        auto parsed = parser_.next();
        if (!parsed.ok() || std::holds_alternative<std::monostate>(*parsed)) break;
        if (auto* frame = std::get_if<wire::Frame>(&*parsed)) on_frame(*frame);
      }
      read();
    });
  }

  void on_frame(const wire::Frame& frame) {
    switch (static_cast<ParentFrame>(frame.header.type)) {
      case ParentFrame::kSetup:
        return on_setup(frame.body);
      case ParentFrame::kReport:
        report_from_ = frame.body["from_step"];
        return report();
      case ParentFrame::kLeave:
        return leave("Its agent asked it to.", frame.body["cause"]);
      case ParentFrame::kFault:
        fired_.insert(frame.body["fired"].get<std::uint64_t>());
        return;
      default:
        return;
    }
  }

  void on_setup(const Json& setup) {
    setup_ = setup;
    id_ = setup["id"];
    std::cout << "worker " << id_ << " of " << setup["job"] << std::endl;
    for (const Json& fault : setup["options"]["faults"]) {
      faults_.push_back(model::fault_from(fault).value());
    }
    for (const Json& fired : setup["options"]["fired"]) fired_.insert(fired.get<std::uint64_t>());
    store::ClientOptions options;
    for (const Json& url : setup["store"]) {
      options.endpoints.push_back(http::parse_url(url.get<std::string>()).value());
    }
    options.token = setup["token"];
    store_ = std::make_unique<store::EtcdStore>(system_, std::move(options));
    picture_.prefix = agent::job_prefix(setup["job"]);
    const Json member{{"id", id_},
                      {"address", setup["address"]},
                      {"host", setup["host"]},
                      {"pid", os::this_machine().pid},
                      {"state", "joining"},
                      {"reason", ""}};
    registration_ = std::make_unique<store::Registration>(
        *store_,
        store::RegistrationOptions{
            .key = picture_.prefix + "members/" + id_, .value = json_line(member), .lease = 2s});
    following_ = store_->follow(picture_.prefix, [this](const Result<store::Fact>& fact) {
      if (!fact.ok()) return system_.finish(4);
      picture_.take(*fact);
      if (fact->kind == store::Fact::Kind::kCurrent && !std::exchange(current_, true)) {
        first_seen_ = step() + 1;
      }
      if (current_) act();
    });
  }

  void act() {
    if (leaving_) return;
    if (picture_.result.is_object()) return leave("The job has ended.", "");
    report();
    const bool is_member = picture_.in_view(id_) != nullptr;
    if (is_member != was_member_ && !is_member) return leave("It was scaled in.", "scale");
    if (is_member != was_member_) {
      send(ParentFrame::kState, {{"state", "member"}, {"reason", "It is in the view."}});
    }
    was_member_ = is_member;
    if (lowest_alive() != id_) return;
    lead();
  }

  std::string lowest_alive() const {
    std::string lowest;
    for (const auto& [id, member] : picture_.members) {
      if (!picture_.is_alive(id)) continue;
      if (lowest.empty() || id_number(id) < id_number(lowest)) lowest = id;
    }
    return lowest;
  }

  void lead() {
    if (!picture_.wanted || writing_) return;
    if (picture_.leader_id() != id_) {
      return put({{"leader", {{"ballot", 1}, {"id", id_}, {"claim", id_}}}});
    }
    if (picture_.wanted->stop) return end("stopped");
    std::vector<std::string> ids;
    for (const auto& [id, member] : picture_.members) {
      if (picture_.is_alive(id)) ids.push_back(id);
    }
    std::sort(ids.begin(), ids.end(),
              [](const auto& a, const auto& b) { return id_number(a) < id_number(b); });
    ids.resize(std::min<std::size_t>(ids.size(), picture_.wanted->workers));
    std::vector<std::string> now;
    if (picture_.view) {
      for (const model::Member& member : picture_.view->members) now.push_back(member.id);
    }
    if (!picture_.view && ids.size() < picture_.wanted->workers) return;
    if (ids != now) return publish(ids);
    if (!stepping_) step_later();
  }

  void publish(const std::vector<std::string>& ids) {
    model::View view;
    const std::uint32_t v = setup_["spec"]["logical_workers"];
    const std::vector<model::Carrier> carriers(ids.size());
    const model::Assignment assignment = model::assign(v, carriers);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      view.members.push_back({ids[i], "", setup_["host"], assignment.logical[i]});
    }
    view.generation = picture_.view ? picture_.view->generation.next() : model::Generation(1);
    view.first_step = model::Step(step() + 1);
    view.batch = model::undivided_batch(64, v);
    view.cause = picture_.view ? model::Cause::kScale : model::Cause::kStart;
    view.reason = "Others are alive.";
    put({{"view", view}});
  }

  // What it wrote itself may not have come back from the store yet.
  std::uint64_t step() const {
    const bool is_known = picture_.progress.is_object();
    return std::max(written_, is_known ? picture_.progress["step"].get<std::uint64_t>() : 0);
  }

  void step_later() {
    stepping_ = true;
    timer_ = system_.after(std::chrono::milliseconds(behaviour_.step_ms), [this] {
      stepping_ = false;
      if (leaving_ || writing_ || lowest_alive() != id_) return;
      const std::uint64_t next = step() + 1;
      if (behaviour_.fail_at == next) {
        return send(ParentFrame::kDied, {{"step", next}, {"v", 1}, {"message", "bad sample"}},
                    [this] { system_.finish(3); });
      }
      if (next > setup_["spec"]["steps"].get<std::uint64_t>()) return end("finished");
      written_ = next;
      put({{"progress", {{"step", next}, {"epoch", 0}, {"loss", 1.0 / double(next)}}}});
    });
  }

  void end(const std::string& state) {
    put({{"checkpoint", {{"step", step()}, {"path", "checkpoints"}}},
         {"result", {{"state", state}, {"step", step()}, {"samples", 64 * step()}}}});
  }

  void put(const std::map<std::string, Json>& values) {
    writing_ = true;
    store::Change change;
    for (const auto& [name, value] : values) {
      change.puts.push_back({picture_.prefix + name, json_line(value), 0});
    }
    call_ = store_->change(change, [this](const Result<store::Changed>&) {
      writing_ = false;
      act();
    });
  }

  // What came since the last time, as the one whom the agent asked; of steps before its own time it
  // knows nothing.
  void report() {
    strike();
    if (report_from_ == 0 || !picture_.view) return;
    report_from_ = std::max(report_from_, first_seen_);
    Json events = Json::array();
    const std::uint64_t generation = picture_.view->generation.value();
    if (generation > reported_) {
      Json view = *picture_.view;
      view["event"] = "view";
      events.push_back(view);
      view["pause_ms"] = 1.5;
      events.push_back(view);
      reported_ = generation;
    }
    for (; report_from_ <= step(); ++report_from_) {
      events.push_back({{"event", "step"},
                        {"step", report_from_},
                        {"epoch", 0},
                        {"position", 0},
                        {"samples", 64},
                        {"loss", 0.5},
                        {"workers", picture_.view->members.size()},
                        {"generation", generation}});
    }
    if (!events.empty()) send(ParentFrame::kEvents, {{"events", events}});
  }

  void strike() {
    for (std::size_t i = 0; i < faults_.size(); ++i) {
      const model::Fault& fault = faults_[i];
      if (fired_.contains(i) || !was_member_) continue;
      if (!model::fires(fault, model::FaultPhase::kCompute, model::Step(step() + 1), id_)) continue;
      fired_.insert(i);
      const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(fault.pause).count();
      send(ParentFrame::kFiring, {{"fault", i}, {"action", model::name(fault.action)}, {"ms", ms}},
           [this, fault] {
             if (fault.action == model::FaultAction::kKill) ::raise(SIGKILL);
             if (fault.action == model::FaultAction::kExit) system_.finish(fault.code);
           });
    }
  }

  void leave(const std::string& reason, const std::string& cause) {
    if (leaving_) return;
    leaving_ = true;
    send(ParentFrame::kState, {{"state", "leaving"}, {"reason", reason}, {"cause", cause}});
    const auto end = [this] { system_.finish(0); };
    if (registration_) return registration_->leave(end);
    end();
  }

  os::PosixSystem& system_;
  const Behaviour behaviour_;
  wire::FrameParser parser_;
  std::deque<std::pair<std::shared_ptr<std::string>, os::Task>> sending_;
  Json setup_;
  std::string id_;
  std::vector<model::Fault> faults_;
  std::set<std::uint64_t> fired_;
  std::unique_ptr<store::EtcdStore> store_;
  std::unique_ptr<store::Registration> registration_;
  agent::JobPicture picture_;
  bool current_ = false;
  bool leaving_ = false;
  bool was_member_ = false;
  bool writing_ = false;
  std::uint64_t written_ = 0;  // the last step that this worker wrote
  bool stepping_ = false;
  std::uint64_t report_from_ = 0;
  std::uint64_t first_seen_ = 0;  // the first step that came after it had the whole picture
  std::uint64_t reported_ = 0;
  os::Pending following_;
  os::Pending timer_;
  os::Pending call_;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int run(const std::vector<std::string>& arguments) {
  Behaviour behaviour;
  for (const std::string& argument : arguments) {
    const std::string value = argument.substr(argument.find('=') + 1);
    if (argument.starts_with("--step-ms=")) behaviour.step_ms = std::stoi(value);
    if (argument.starts_with("--load=")) behaviour.load = value;
    if (argument.starts_with("--fail-at=")) behaviour.fail_at = std::stoull(value);
  }
  const std::string role = variable(train::kRoleVariable);
  int parent = std::atoi(variable(os::kParentVariable).c_str());
  if (role == train::kRoleParent) {
    if (!behaviour.load.empty()) std::ifstream{behaviour.load};
    const auto child = os::serve_forks(parent);
    if (!child) return 0;
    parent = child->parent_descriptor;
  }
  const auto sink = silent_log_sink();
  const auto system = os::posix_system({.log_sink = sink.get(), .parent_descriptor = parent});
  StandInWorker worker(*system, behaviour);
  if (role == train::kRoleDescribe) {
    worker.send(ParentFrame::kProgram, {{"samples", 6400}, {"logical_workers", 4}},
                [&] { system->finish(0); });
  }
  return system->run();
}

}  // namespace
}  // namespace edl

int main(int argc, char** argv) { return edl::run({argv + 1, argv + argc}); }
