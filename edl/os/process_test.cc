#include <csignal>
#include <fstream>

#include "edl/base/text.h"
#include "edl/os/stage_test.h"

namespace edl::os {
namespace {

EDL_ON_BOTH_STAGES(Children);

struct ChildScene : Program {
  ChildScene(System& s, Stage& stage) : system(s), program(stage.child_program()), buffer(100) {}

  void spawn(std::vector<std::string> arguments, ExitDone exited) {
    Spawn spawn;
    spawn.argv = {program};
    spawn.argv.insert(spawn.argv.end(), arguments.begin(), arguments.end());
    auto started = system.processes().spawn(spawn, std::move(exited));
    ASSERT_TRUE(started.ok()) << started.error().message;
    child = std::move(started).value();
    EXPECT_GT(child->pid(), 0);
  }
  void say(std::string_view words) {
    const ConstBytes piece = bytes_of(words);
    child->stream().write(std::span(&piece, 1), [](auto) {});
  }
  // Reads until so many bytes came, in however many pieces.
  void hear(std::size_t bytes, std::function<void(const std::string&)> then) {
    child->stream().read(buffer, [this, bytes, then](Result<std::size_t> got) {
      heard += text_of(ConstBytes(buffer).first(got.value()));
      if (heard.size() < bytes) return hear(bytes, then);
      then(std::exchange(heard, ""));
    });
  }
  void expect_exit(Exit exit, Exit expected) {
    EXPECT_EQ(exit_text(exit), exit_text(expected));
    system.finish(0);
  }

  System& system;
  std::string program;
  std::unique_ptr<Child> child;
  Bytes buffer;
  std::string heard;
};

TEST_P(Children, their_exit_code_is_reported) {
  struct ExitCode : ChildScene {
    ExitCode(System& s, Stage& stage) : ChildScene(s, stage) {
      spawn({"exit", "5"}, [this](Exit exit) { expect_exit(exit, {.code = 5}); });
    }
  };
  play<ExitCode>();
}

TEST_P(Children, a_killed_one_is_reported_with_its_signal) {
  struct Killed : ChildScene {
    Killed(System& s, Stage& stage) : ChildScene(s, stage) {
      spawn({"hang"}, [this](Exit exit) {
        expect_exit(exit, {.signal = SIGKILL});
        EXPECT_EQ(child->signal(Signal::kKill).error().code, Code::kNotFound);
      });
      EXPECT_TRUE(child->signal(Signal::kKill).ok());
    }
  };
  play<Killed>();
}

TEST_P(Children, a_polite_request_reaches_them) {
  struct Polite : ChildScene {
    Polite(System& s, Stage& stage) : ChildScene(s, stage) {
      spawn({"terminate"}, [this](Exit exit) { expect_exit(exit, {.code = 7}); });
      hear(5, [this](const std::string& said) {
        EXPECT_EQ(said, "ready");
        EXPECT_TRUE(child->signal(Signal::kTerminate).ok());
      });
    }
  };
  play<Polite>();
}

TEST_P(Children, talk_with_their_parent_and_see_it_close) {
  struct Talk : ChildScene {
    Talk(System& s, Stage& stage) : ChildScene(s, stage) {
      spawn({"echo"}, [this](Exit exit) { expect_exit(exit, {.code = 3}); });
      say("hello");
      hear(5, [this](const std::string& said) {
        EXPECT_EQ(said, "hello");
        child->stream().close();
      });
    }
  };
  play<Talk>();
}

TEST_P(Children, a_stopped_one_answers_once_it_continues) {
  struct Stopped : ChildScene {
    Stopped(System& s, Stage& stage) : ChildScene(s, stage) {
      spawn({"echo"}, [](Exit) {});
      say("one");
      hear(3, [this](auto) { stop(); });
    }
    void stop() {
      EXPECT_TRUE(child->signal(Signal::kStop).ok());
      wait = system.after(20ms, [this] {
        say("two");
        hear(3, [this](auto) {
          EXPECT_TRUE(continued);
          EXPECT_TRUE(child->signal(Signal::kKill).ok());
          system.finish(0);
        });
        wait = system.after(50ms, [this] {
          continued = true;
          EXPECT_TRUE(child->signal(Signal::kContinue).ok());
        });
      });
    }
    Pending wait;
    bool continued = false;
  };
  play<Stopped>();
}

TEST_P(Children, a_program_that_is_not_there_is_an_error) {
  struct Missing : ChildScene {
    Missing(System& s, Stage& stage) : ChildScene(s, stage) {
      Spawn spawn;
      spawn.argv = {"/no/such/program"};
      const auto started = system.processes().spawn(spawn, [](Exit) {});
      EXPECT_EQ(started.error().code, Code::kNotFound);
      system.finish(0);
    }
  };
  play<Missing>();
}

struct Forking : ChildScene {
  Forking(System& s, Stage& stage) : ChildScene(s, stage) {
    Spawn spawn;
    spawn.argv = {program, "fork-server"};
    server = system.processes().spawn_fork_server(spawn, [](Exit) {}).value();
  }
  void fork(std::vector<std::string> arguments, std::function<void()> done, ExitDone exited) {
    server->fork(
        std::move(arguments), "",
        [this, done](auto made) {
          ASSERT_TRUE(made.ok()) << made.error().message;
          child = std::move(made).value();
          done();
        },
        std::move(exited));
  }
  std::unique_ptr<ForkServer> server;
};

TEST_P(Children, can_be_forked_from_a_loaded_process) {
  struct Fork : Forking {
    Fork(System& s, Stage& stage) : Forking(s, stage) {
      fork(
          {"echo"},
          [this] {
            say("hello");
            child->stream().read(buffer, [this](auto) { child->stream().close(); });
          },
          [this](Exit exit) { expect_exit(exit, {.code = 3}); });
    }
  };
  play<Fork>();
}

TEST_P(Children, forked_ones_outlive_the_server_and_are_still_reported) {
  struct Outlive : Forking {
    Outlive(System& s, Stage& stage) : Forking(s, stage) {
      fork(
          {"echo"},
          [this] {
            server.reset();  // it sees its end and exits
            say("hello");
            child->stream().read(buffer, [this](Result<std::size_t> got) {
              EXPECT_GT(got.value(), 0u);
              child->stream().close();
            });
          },
          [this](Exit exit) { expect_exit(exit, {.code = 3}); });
    }
  };
  play<Outlive>();
}

// True once the process is gone or only its exit code is left.
bool has_ended(int pid) {
  std::ifstream status(text("/proc/", pid, "/stat"));
  std::string word;
  for (int i = 0; i < 3; ++i) status >> word;
  return !status || word == "Z";
}

TEST(PosixChildren, can_be_told_to_die_with_their_parent) {
  PosixStage stage;
  struct Nest : ChildScene {
    Nest(System& s, Stage& on) : ChildScene(s, on) {
      spawn({"nest", program}, [this](Exit) { wait_for_end(); });
      child->stream().read(buffer, [this](Result<std::size_t> got) {
        inner = std::stoi(std::string(text_of(ConstBytes(buffer).first(got.value()))));
        EXPECT_FALSE(has_ended(inner));
        EXPECT_TRUE(child->signal(Signal::kKill).ok());
      });
    }
    void wait_for_end() {
      if (has_ended(inner)) return system.finish(0);
      wait = system.after(5ms, [this] { wait_for_end(); });
    }
    int inner = 0;
    Pending wait;
  };
  EXPECT_TRUE(stage.play([&](System& system) { return std::make_unique<Nest>(system, stage); }));
}

// Starts a child that starts another one and leaves it behind.
struct Leaving : ChildScene {
  Leaving(System& s, Stage& stage) : ChildScene(s, stage) {
    Spawn spawn;
    spawn.argv = {program, "leave", program};
    spawn.own_session = true;
    spawn.as_group = true;
    child = system.processes().spawn(spawn, [this](Exit exit) { on_exit(exit); }).value();
    child->stream().read(buffer, [this](Result<std::size_t> got) {
      inner = std::stoi(std::string(text_of(ConstBytes(buffer).first(got.value()))));
      begin();
    });
  }
  virtual void begin() { say("go"); }
  virtual void on_exit(Exit exit) {
    EXPECT_TRUE(has_ended(inner));
    expect_exit(exit, {.code = 0});
  }
  int inner = 0;
};

TEST(PosixChildren, of_a_group_leave_nobody_behind) {
  PosixStage stage;
  EXPECT_TRUE(stage.play([&](System& system) { return std::make_unique<Leaving>(system, stage); }));
}

TEST(PosixChildren, a_signal_reaches_a_whole_group) {
  PosixStage stage;
  struct Signalled : Leaving {
    using Leaving::Leaving;
    void begin() override {
      EXPECT_FALSE(has_ended(inner));
      EXPECT_TRUE(child->signal(Signal::kKill).ok());
    }
    void on_exit(Exit exit) override {
      EXPECT_TRUE(has_ended(inner));
      expect_exit(exit, {.signal = SIGKILL});
    }
  };
  EXPECT_TRUE(
      stage.play([&](System& system) { return std::make_unique<Signalled>(system, stage); }));
}

// What is left on a virtual node of a parent, its child and the child's own, when a signal has
// reached the child; the parent alone is expected.
void expect_parent_alone(const Spawn& spawn, Signal signal) {
  VirtualWorld world({.seed = 1});
  world.install("child", [](System& system, const Arguments& argv) {
    return std::make_unique<TestChild>(system, Arguments(argv.begin() + 1, argv.end()));
  });
  world.install("parent", [&spawn](System& system, const Arguments&) {
    struct Parent : Program {
      std::unique_ptr<Child> child;
    };
    auto parent = std::make_unique<Parent>();
    parent->child = system.processes().spawn(spawn, [](Exit) {}).value();
    return parent;
  });
  const int node = world.add_node("a");
  const int parent = world.start(node, {"parent"});
  world.run_for(1s);
  const auto pids = world.processes_on(node);
  ASSERT_EQ(pids.size(), 3u);
  world.send_signal(pids[1], signal);
  world.run_for(1s);
  EXPECT_EQ(world.processes_on(node), std::vector<int>{parent});
}

TEST(VirtualChildren, of_a_group_leave_nobody_behind) {
  Spawn spawn;
  spawn.argv = {"child", "leave", "child"};
  spawn.own_session = true;
  spawn.as_group = true;
  expect_parent_alone(spawn, Signal::kTerminate);
}

TEST(VirtualChildren, can_be_told_to_die_with_their_parent) {
  Spawn spawn;
  spawn.argv = {"child", "nest", "child"};
  expect_parent_alone(spawn, Signal::kKill);
}

TEST(PosixChildren, write_their_output_to_a_file_and_know_their_environment) {
  PosixStage stage;
  const std::string log = stage.folder() + "/log";
  EXPECT_TRUE(stage.play([&](System& system) {
    Spawn spawn;
    spawn.argv = {"/bin/sh", "-c", "echo out; echo err >&2; echo $MARK; pwd; cat"};
    spawn.environment = {{"MARK", "marked"}};
    spawn.directory = stage.folder();
    spawn.output_path = log;
    auto child = system.processes().spawn(spawn, [&system](Exit) { system.finish(0); });
    struct Keep : Program {
      std::unique_ptr<Child> child;
    };
    auto keep = std::make_unique<Keep>();
    keep->child = std::move(child).value();
    return keep;
  }));
  EXPECT_TRUE(stage.play([&](System& system) {
    const Bytes bytes = read_file(system.disk(), log, 1000).value();
    EXPECT_EQ(text_of(bytes), "out\nerr\nmarked\n" + stage.folder() + "\n");
    system.finish(0);
    return std::make_unique<Program>();
  }));
}

TEST(PosixChildren, can_have_a_session_of_their_own) {
  PosixStage stage;
  EXPECT_TRUE(stage.play([&](System& system) {
    struct Keep : Program {
      std::unique_ptr<Child> child;
    };
    auto keep = std::make_unique<Keep>();
    Spawn spawn;
    spawn.argv = {"/bin/sh", "-c", "test $(cut -d' ' -f6 /proc/$$/stat) = $$"};
    spawn.own_session = true;
    keep->child = system.processes()
                      .spawn(spawn,
                             [&system](Exit exit) {
                               EXPECT_EQ(exit, Exit{});
                               system.finish(0);
                             })
                      .value();
    return keep;
  }));
}

TEST(PosixChildren, a_fork_server_with_threads_is_refused_with_a_sentence) {
  PosixStage stage;
  EXPECT_TRUE(stage.play([&](System& system) {
    struct Threads : Program {
      std::unique_ptr<ForkServer> server;
    };
    auto scene = std::make_unique<Threads>();
    Spawn spawn;
    spawn.argv = {stage.child_program(), "fork-server", "threads"};
    scene->server = system.processes().spawn_fork_server(spawn, [](Exit) {}).value();
    scene->server->fork(
        {"exit", "0"}, "",
        [&system](auto child) {
          EXPECT_NE(child.error().message.find("it has 2 threads and must have one"),
                    std::string::npos)
              << child.error().message;
          system.finish(0);
        },
        [](Exit) {});
    return scene;
  }));
}

}  // namespace
}  // namespace edl::os
