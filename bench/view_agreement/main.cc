// What it takes to agree on a view, by the number of members: messages between them, bytes, and
// time in a virtual cluster with a real store in it. Nothing is trained, so that nobody waits for
// a step: a first view, and the one without a member that died. (A newcomer is taken in at the end
// of a step; bench/pauses measures that.)
#include <cstdio>
#include <map>
#include <set>

#include "bench/table.h"
#include "bench/view_agreement/counting.h"
#include "edl/base/text.h"
#include "edl/membership/membership.h"
#include "edl/os/virtual/world.h"
#include "edl/store/etcd_store.h"
#include "edl/store/server.h"
#include "edl/store/settle.h"

namespace edl::bench {
namespace {

constexpr const char* kJob = "job";
constexpr const char* kToken = "the token of the store";
constexpr Duration kLimit = 60s;

store::ClientOptions client_options() {
  return {.endpoints = {{.address = {kStoreHost, 2379, {}}, .tls = false}}, .token = kToken};
}

// What the members have done so far.
struct Scene {
  Traffic traffic{};
  std::uint32_t members = 0;                           // at most
  std::map<std::string, std::uint64_t> generations{};  // that each alive member is in

  bool all_in(std::uint64_t generation, std::size_t count) const {
    std::size_t in = 0;
    for (const auto& [id, at] : generations) in += at >= generation ? 1 : 0;
    return in == count;
  }
};

class StoreNode final : public os::Program {
 public:
  explicit StoreNode(os::System& system) {
    auto started = store::StoreServer::start(
        system, {.address = {"0.0.0.0", 2379, {}}, .folder = "/store", .token = kToken});
    EDL_CHECK(started.ok());
    server_ = std::move(started).value();
  }

 private:
  std::unique_ptr<store::StoreServer> server_;
};

class MemberNode final : public os::Program {
 public:
  MemberNode(os::System& system, Scene& scene, std::string id)
      : id_(std::move(id)),
        scene_(scene),
        system_(counting_system(system, scene.traffic)),
        store_(*system_, client_options()),
        membership_(
            *system_, store_, options(),
            {.act = [this](const membership::Action& action) { act(action); },
             .frame = [](const model::WorkerId&, const wire::Frame&) {},
             .bulk = [](const model::WorkerId&, const wire::Header&, std::uint64_t, ConstBytes) {},
             .key = [](const std::string&, const std::string&) {}}) {
    EDL_CHECK(membership_.start().ok());
  }
  ~MemberNode() override { scene_.generations.erase(id_); }

 private:
  membership::MembershipOptions options() const {
    return {.job = kJob,
            .id = id_,
            .host = id_,
            .listen = {id_, 0, {}},
            .secret = wire::Secret::make(bytes_of("a secret of sixteen bytes or more")).value(),
            .rules = {.logical_workers = scene_.members,
                      .min = 1,
                      .max = scene_.members,
                      .batch = scene_.members},
            .lease = 60s};
  }

  // The state of every member is that of the beginning.
  void act(const membership::Action& action) {
    if (const auto* enter = std::get_if<membership::EnterView>(&action)) {
      scene_.generations[id_] = enter->view.generation.value();
    }
    if (std::holds_alternative<membership::GetState>(action)) {
      system_->post([this] { membership_.on_state({}); });
    }
  }

  const std::string id_;
  Scene& scene_;
  std::unique_ptr<os::System> system_;
  store::EtcdStore store_;
  membership::Membership membership_;
};

// Who asks for workers, and says of a dead one that it has ended, as its agent would.
class AgentNode final : public os::Program {
 public:
  explicit AgentNode(os::System& system) : store_(system, client_options()) {}

  void want(std::uint32_t workers) {
    put(keys_.wanted(), membership::Wanted{.workers = workers, .by = "a bench", .reason = "asked"});
  }
  void tell_ended(const std::string& id) {
    put(keys_.member(id), Json{{"id", id}, {"state", "exited"}});
  }

 private:
  void put(const std::string& key, const Json& value) {
    asking_ = store::settle(store_, {.puts = {{key, json_line(value), 0}}}, key, kLimit,
                            [](const Result<store::Settled>&) {});
  }

  membership::JobKeys keys_{kJob};
  store::EtcdStore store_;
  os::Pending asking_;
};

class Cluster {
 public:
  explicit Cluster(std::uint32_t members) : world_({.seed = 1, .quiet = true}) {
    scene_.members = members;
    world_.install("store", [](os::System& system, const os::Arguments&) {
      return std::make_unique<StoreNode>(system);
    });
    world_.install("agent", [this](os::System& system, const os::Arguments&) {
      auto agent = std::make_unique<AgentNode>(system);
      agent_ = agent.get();
      return agent;
    });
    world_.install("member", [this](os::System& system, const os::Arguments& argv) {
      return std::make_unique<MemberNode>(system, scene_, argv[1]);
    });
    world_.start(world_.add_node(kStoreHost), {"store"});
    world_.start(world_.add_node("agent"), {"agent"});
    world_.run_for(100ms);
  }

  int add(std::uint32_t number) {
    const std::string id = name(number);
    return world_.start(world_.add_node(id), {"member", id});
  }
  static std::string name(std::uint32_t number) { return text("w", number); }

  void tell(Table& table, const char* change, std::size_t count,
            const std::function<void()>& make) {
    const Traffic before = scene_.traffic;
    const Time since = world_.now();
    ++generation_;
    make();
    const bool agreed = world_.run_until([&] { return scene_.all_in(generation_, count); }, kLimit);
    if (!agreed) std::fprintf(stderr, "%s of %zu members: no view\n", change, count);
    const double ms = seconds(world_.now() - since) * 1000;
    const Traffic& now = scene_.traffic;
    table.row({{"change", change},
               {"members", count},
               {"messages", now.messages - before.messages},
               {"message_bytes", now.message_bytes - before.message_bytes},
               {"store_bytes", now.store_bytes - before.store_bytes},
               {"virtual_ms", ms}});
    world_.run_for(300ms);  // what is under way still
  }

  void kill(int pid) { world_.send_signal(pid, os::Signal::kKill); }
  AgentNode& agent() { return *agent_; }

 private:
  Scene scene_;
  AgentNode* agent_ = nullptr;
  std::uint64_t generation_ = 0;
  os::VirtualWorld world_;  // last: its processes tell the rest when they end
};

void fill(Table& table) {
  for (const std::uint32_t members : {2u, 4u, 8u, 16u, 32u, 64u, 128u, 256u, 512u}) {
    Cluster cluster(members);
    int last = 0;
    cluster.tell(table, "start", members, [&] {
      cluster.agent().want(members);
      for (std::uint32_t i = 1; i <= members; ++i) last = cluster.add(i);
    });
    cluster.tell(table, "death", members - 1, [&] {
      cluster.kill(last);
      cluster.agent().tell_ended(Cluster::name(members));
    });
  }
}

}  // namespace
}  // namespace edl::bench

int main(int argc, char** argv) {
  return edl::bench::run(
      argc, argv, {"change", "members", "messages", "message_bytes", "store_bytes", "virtual_ms"},
      edl::bench::fill);
}
