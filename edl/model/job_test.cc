#include "edl/model/job.h"

#include <gtest/gtest.h>

#include "edl/model/ids.h"

namespace edl::model {
namespace {

JobSpec small_job() {
  JobSpec job;
  job.name = "digits-1";
  job.program = "builtin:mlp";
  return job;
}

TEST(Job, reads_what_it_wrote) {
  JobSpec job = small_job();
  EXPECT_EQ(job_from(parse_json(json_line(job)).value()).value(), job);
  job.args = {"--width", "61", ""};
  job.workers = WorkerRange{2, 8, std::nullopt};
  job.start = 4;
  job.logical_workers = 8;
  job.batch_policy = BatchPolicy::kCapped;
  job.batch = 64;
  job.batch_max = 512;
  job.seed = 18446744073709551615u;
  job.epochs = 3;
  job.steps = 100;
  job.resources = {.slots = 2, .cpus = 0.5, .memory_bytes = 1u << 30};
  job.priority = -3;
  job.tenant = "physics";
  job.checkpoint = "100steps";
  job.silent_steps = 20;
  job.part_limit = "90s";
  job.init = WeightsFile{"/weights.safetensors", std::string(64, 'a')};
  job.from = "/jobs/other/checkpoints/40";
  EXPECT_EQ(job_from(parse_json(json_line(job)).value()).value(), job);
}

TEST(Job, workers_may_be_a_number) {
  const Json json = parse_json(R"({"name":"a","program":"p","workers":2,"batch":256})").value();
  EXPECT_EQ(job_from(json)->workers, (WorkerRange{1, 2, 2}));
}

TEST(Job, logical_workers_follow_from_the_batch_never_from_the_workers) {
  JobSpec job = small_job();
  job.batch = 256;
  EXPECT_EQ(logical_workers(job), 8u);
  job.workers = WorkerRange{1, 2, 2};
  EXPECT_EQ(logical_workers(job), 8u);
  job.batch_policy = BatchPolicy::kLinear;
  EXPECT_EQ(logical_workers(job), 16u);
  job.batch_policy = BatchPolicy::kAdaptive;
  job.batch_max = 128;
  EXPECT_EQ(logical_workers(job), 4u);
  job.logical_workers = 5;
  EXPECT_EQ(logical_workers(job), 5u);
}

TEST(Job, workers_not_given_are_one_to_all_logical_workers) {
  JobSpec job = small_job();
  job.logical_workers = 12;
  EXPECT_EQ(worker_range(job)->range, (WorkerRange{1, 12, std::nullopt}));
  job.workers = WorkerRange{1, 20, std::nullopt};
  EXPECT_EQ(worker_range(job)->range.max, 12u);
  EXPECT_FALSE(worker_range(job)->note.empty());
}

TEST(Job, the_start_may_be_said_without_a_range) {
  JobSpec job = small_job();
  job.logical_workers = 8;
  job.start = 3;
  EXPECT_EQ(worker_range(job)->range, (WorkerRange{1, 8, 3}));
  job.workers = parse_workers("4").value();
  EXPECT_EQ(worker_range(job)->range, (WorkerRange{1, 4, 3}));
  job.start = 9;
  EXPECT_FALSE(validate(job).ok());
}

TEST(Job, names_are_fit_for_paths_and_keys) {
  for (const char* good : {"a", "0", "digits-1", "a.b-c", "x--"}) {
    EXPECT_TRUE(validate_name("job", good).ok()) << good;
  }
  EXPECT_TRUE(validate_name("job", std::string(63, 'x')).ok());
  for (const char* bad : {"", ".", "-a", ".a", "A", "a/b", "a b", "a_b", "\xc3\xa4"}) {
    EXPECT_FALSE(validate_name("job", bad).ok()) << bad;
  }
  EXPECT_FALSE(validate_name("job", std::string(64, 'x')).ok());
  EXPECT_EQ(validate_name("job", "My job").error().message,
            "\"My job\" cannot be the name of a job: use 1 to 63 lower-case letters, digits, '.' "
            "and '-', beginning with a letter or digit");
}

TEST(Job, more_logical_workers_than_the_batch_are_refused) {
  JobSpec job = small_job();
  job.logical_workers = 65;
  EXPECT_FALSE(validate(job).ok());
  job.batch_policy = BatchPolicy::kAdaptive;
  job.batch_max = 4096;  // the batch may begin below the logical workers, but not stay there
  EXPECT_TRUE(validate(job).ok());
  job.batch_policy = BatchPolicy::kLinear;
  EXPECT_TRUE(validate(job).ok());
}

TEST(Job, policies_that_need_a_limit_say_so) {
  JobSpec job = small_job();
  job.batch_policy = BatchPolicy::kCapped;
  EXPECT_EQ(validate(job).error().message,
            "batch policy capped needs the largest global batch (--batch-max)");
  job.batch_max = 32;
  EXPECT_EQ(validate(job).error().message,
            "a batch of 64 is above its own limit of 32 (--batch-max)");
}

TEST(Job, a_part_limit_is_a_time_or_one_of_two_words) {
  JobSpec job = small_job();
  for (const char* good : {"auto", "off", "30s", "2h"}) {
    job.part_limit = good;
    EXPECT_TRUE(validate(job).ok()) << good;
  }
  for (const char* bad : {"", "long", "30", "-1s"}) {
    job.part_limit = bad;
    EXPECT_FALSE(validate(job).ok()) << bad;
  }
}

TEST(Job, silent_steps_have_limits) {
  JobSpec job = small_job();
  for (const std::uint32_t bad : {0u, 1000001u}) {
    job.silent_steps = bad;
    EXPECT_FALSE(validate(job).ok()) << bad;
  }
}

TEST(Job, checkpoint_rules) {
  JobSpec job = small_job();
  for (const char* good : {"auto", "off", "1steps", "1000000000000steps", "30s", "1.5h"}) {
    job.checkpoint = good;
    EXPECT_TRUE(validate(job).ok()) << good;
  }
  for (const char* bad :
       {"", "10", "steps", "-3steps", "0steps", "1000000000001steps", "0s", "often"}) {
    job.checkpoint = bad;
    EXPECT_FALSE(validate(job).ok()) << bad;
  }
}

TEST(Job, what_cannot_run_is_refused) {
  JobSpec job = small_job();
  job.program.clear();
  EXPECT_FALSE(validate(job).ok());
  job = small_job();
  job.args.assign(kListMax + 1, "x");
  EXPECT_FALSE(validate(job).ok());
  job = small_job();
  job.resources.cpus = 0;
  EXPECT_FALSE(validate(job).ok());
  job = small_job();
  job.workers = WorkerRange{3, 3, 3};  // 2 logical workers by default
  EXPECT_FALSE(validate(job).ok());
}

TEST(Job, in_mode_stop_resume_each_worker_is_a_part_and_there_is_no_batch) {
  JobSpec job = small_job();
  job.mode = JobMode::kStopResume;
  job.workers = WorkerRange{2, 200, std::nullopt};
  EXPECT_TRUE(validate(job).ok()) << "200 workers are more than a batch of 64";
  EXPECT_EQ(logical_workers(job), 200u);
  EXPECT_EQ(worker_range(job)->range.max, 200u);
  EXPECT_EQ(job_from(parse_json(json_line(job)).value()).value(), job);
  job.workers = WorkerRange{1, 5000, std::nullopt};
  EXPECT_FALSE(validate(job).ok());
  EXPECT_FALSE(parse_job_mode("stop").ok());
}

}  // namespace
}  // namespace edl::model
