#include "edl/membership/mesh.h"

#include <gtest/gtest.h>

#include "edl/os/virtual/world.h"

namespace edl::membership {
namespace {

constexpr std::uint16_t kPort = 4000;

// What both ends share: who leads, and what was found silent.
struct Scene {
  model::WorkerId leader{};
  std::vector<model::WorkerId> silent{};
  int links = 0;
};

// Beats as a worker does, and sends nothing else.
class End final : public os::Program {
 public:
  End(os::System& system, Scene& scene, const std::string& id, const std::string& other)
      : system_(system),
        scene_(scene),
        mesh_(system,
              {.job = "job",
               .id = id,
               .secret = wire::Secret::make(bytes_of("a secret of sixteen bytes or more")).value()},
              {.link = [this](const model::WorkerId&, bool up) { scene_.links += up ? 1 : -1; },
               .silent = [this](const model::WorkerId& who) { scene_.silent.push_back(who); },
               .frame = [](const model::WorkerId&, const wire::Frame&) {},
               .bulk = [](const model::WorkerId&, const wire::Header&, std::uint64_t,
                          ConstBytes) {}}) {
    EDL_CHECK(mesh_.listen({id, kPort, {}}).ok());
    mesh_.know(other, text(other, ":", kPort));
    beat();
  }

 private:
  void beat() {
    mesh_.beat(scene_.leader, {.leader = 200ms, .others = 2s});
    timer_ = system_.after(10ms, [this] { beat(); });
  }

  os::System& system_;
  Scene& scene_;
  Mesh mesh_;
  os::Pending timer_;
};

TEST(Mesh, a_new_leader_has_time_to_begin_to_hurry) {
  Scene scene;
  os::VirtualWorld world({.seed = 1, .quiet = true});
  for (const auto& [id, other] : {std::pair("a", "b"), std::pair("b", "a")}) {
    world.install(id, [&scene, id, other](os::System& system, const os::Arguments&) {
      return std::make_unique<End>(system, scene, id, other);
    });
  }
  const int a = world.start(world.add_node("a"), {"a"});
  world.start(world.add_node("b"), {"b"});
  ASSERT_TRUE(world.run_until([&] { return scene.links == 2; }, 10s));
  // Links of those who do not lead are quiet for longer than a leader may be.
  for (const char* leader : {"a", "b", "a"}) {
    world.run_for(Mesh::kBeat - 20ms);
    scene.leader = leader;
    world.run_for(1s);
    EXPECT_TRUE(scene.silent.empty()) << leader;
    scene.leader.clear();
    world.run_for(3s);
  }
  scene.leader = "a";
  world.run_for(1s);
  world.send_signal(a, os::Signal::kStop);
  world.run_for(500ms);
  EXPECT_EQ(scene.silent, std::vector<model::WorkerId>{"a"}) << "a real silence is still found";
}

}  // namespace
}  // namespace edl::membership
