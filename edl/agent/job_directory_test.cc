#include "edl/agent/job_directory.h"

#include <gtest/gtest.h>

#include "edl/agent/program.h"
#include "edl/os/virtual/world.h"

namespace edl::agent {
namespace {

// Runs `body` as a process of a virtual machine.
void on_a_machine(const std::function<void(os::System&, const JobPaths&)>& body) {
  os::VirtualWorld world({.seed = 1});
  bool ran = false;
  world.install("test", [&](os::System& system, const os::Arguments&) {
    const JobPaths paths{"/job"};
    EXPECT_TRUE(system.disk().make_directory(paths.dir).ok());
    body(system, paths);
    ran = true;
    return std::make_unique<os::Program>();
  });
  world.start(world.add_node("a"), {"test"});
  world.run_for(1s);
  EXPECT_TRUE(ran);
}

Launch some_launch() {
  LaunchRequest request;
  request.name = "a-1";
  request.program = "builtin:mlp";
  request.args = {"--wide", ""};
  request.workers = model::parse_workers("2:8").value();
  request.epochs = 2;
  ProgramFacts program;
  program.samples = 1437;
  program.logical_workers = 8;
  program.fingerprint = {{"isa", "AVX2"}};
  return plan_launch(request, program, 4).value();
}

TEST(JobDirectory, keeps_the_job_as_it_was) {
  on_a_machine([](os::System& system, const JobPaths& paths) {
    os::Disk& disk = system.disk();
    const Launch launch = some_launch();
    ASSERT_TRUE(write_job(disk, paths, launch).ok());
    const auto read = with_workers(read_job(disk, paths).value(), std::nullopt, std::nullopt, 4);
    EXPECT_EQ(read->spec, launch.spec);
    EXPECT_EQ(read->steps, launch.steps);
    EXPECT_EQ(read->batch, launch.batch);
    EXPECT_EQ(read->wanted, launch.wanted);
    EXPECT_EQ(read->fingerprint, launch.fingerprint);
  });
}

TEST(JobDirectory, refuses_a_job_of_an_unknown_schema_or_broken) {
  on_a_machine([](os::System& system, const JobPaths& paths) {
    os::Disk& disk = system.disk();
    Json json = job_json(some_launch());
    json["schema"] = 2;
    EXPECT_FALSE(launch_from(json).ok());
    EXPECT_FALSE(launch_from(Json::array()).ok());
    ASSERT_TRUE(os::replace_file(disk, paths.job(), bytes_of("{")).ok());
    EXPECT_EQ(read_job(disk, paths).error().code, Code::kCorrupt);
  });
}

TEST(JobDirectory, tells_how_to_reach_what_runs) {
  on_a_machine([](os::System& system, const JobPaths& paths) {
    os::Disk& disk = system.disk();
    const RunFile run{.store = {"unix:/x"},
                      .pid = 7,
                      .host = "h",
                      .embedded = false,
                      .fingerprint = {{"isa", "AVX2"}},
                      .reproducible = false};
    ASSERT_TRUE(write_run(disk, paths, run).ok());
    const RunFile read = read_run(disk, paths).value();
    EXPECT_EQ(read.store, run.store);
    EXPECT_EQ(read.pid, 7);
    EXPECT_FALSE(read.embedded);
    EXPECT_EQ(read.fingerprint, run.fingerprint);
    EXPECT_FALSE(read.reproducible);
  });
}

TEST(JobDirectory, a_secret_is_made_once_and_is_private) {
  on_a_machine([](os::System& system, const JobPaths& paths) {
    const std::string secret = make_secret(system, paths.secret()).value();
    EXPECT_EQ(secret.size(), 64u);
    EXPECT_EQ(make_secret(system, paths.secret()).value(), secret);
  });
}

TEST(JobDirectory, a_secret_that_is_short_is_refused) {
  on_a_machine([](os::System& system, const JobPaths& paths) {
    os::Disk& disk = system.disk();
    ASSERT_TRUE(os::replace_file(disk, paths.token(), bytes_of("short\n")).ok());
    EXPECT_NE(read_secret(disk, paths.token()).error().message.find("at least 16"),
              std::string::npos);
  });
}

TEST(JobDirectory, shows_the_end_of_a_log) {
  on_a_machine([](os::System& system, const JobPaths& paths) {
    os::Disk& disk = system.disk();
    ASSERT_TRUE(os::replace_file(disk, paths.run(), bytes_of("a\nb\nc\n")).ok());
    EXPECT_EQ(last_lines(disk, paths.run(), 2), (std::vector<std::string>{"b", "c"}));
    EXPECT_EQ(last_lines(disk, paths.run(), 9).size(), 3u);
    EXPECT_TRUE(last_lines(disk, paths.job(), 2).empty());
  });
}

TEST(JobDirectory, keeps_the_mode_of_a_job) {
  on_a_machine([](os::System& system, const JobPaths& paths) {
    LaunchRequest typed;
    typed.name = "j";
    typed.program = "python3";
    ASSERT_TRUE(write_job(system.disk(), paths, plan_stop_resume(typed, 2).value()).ok());
    EXPECT_EQ(read_job(system.disk(), paths)->spec.mode, model::JobMode::kStopResume);
  });
}

TEST(Program, a_plain_command_is_found_as_a_shell_finds_it) {
  on_a_machine([](os::System& system, const JobPaths& paths) {
    os::Disk& disk = system.disk();
    ASSERT_TRUE(os::replace_file(disk, paths.dir + "/tool", bytes_of("x")).ok());
    using Command = std::vector<std::string>;
    const std::string path = "/nowhere:" + paths.dir;
    EXPECT_EQ(plain_command(disk, path, "tool", {"a"}).value(),
              (Command{paths.dir + "/tool", "a"}));
    EXPECT_EQ(plain_command(disk, "", paths.dir + "/tool", {}).value(),
              Command{paths.dir + "/tool"});
    EXPECT_EQ(plain_command(disk, "/nowhere", "tool", {}).error().code, Code::kNotFound);
    EXPECT_EQ(plain_command(disk, path, "./other", {}).error().code, Code::kNotFound);
    EXPECT_EQ(plain_command(disk, path, "builtin:mlp", {}).error().code, Code::kInvalid);
  });
}

}  // namespace
}  // namespace edl::agent
