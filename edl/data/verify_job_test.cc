#include "edl/data/verify_job.h"

#include <gtest/gtest.h>

#include "edl/data/ledger_file.h"
#include "edl/data/lines.h"
#include "edl/data/trace_samples.h"
#include "edl/data/views_file.h"
#include "edl/model/position.h"
#include "edl/os/machine_test.h"

namespace edl::data {
namespace {

using model::LedgerRecord;
using model::Step;
using os::Machine;

constexpr JobData kData{.samples = 103, .seed = 9, .logical_workers = 4};

void add_line(os::Disk& disk, const std::string& path, const std::string& line) {
  const auto file = disk.open(path, os::Open::kAppend).value();
  ASSERT_TRUE(file->append(bytes_of(line + "\n")).ok());
}

// A job in /job that trained `count` steps of ten samples, with a change of view behind step 5.
struct Job {
  explicit Job(os::Disk& the_disk, std::uint64_t count = 25) : disk(the_disk) {
    EXPECT_TRUE(disk.make_directory("/job/ledger").ok());
    Ledger ledger;
    model::Position here;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto plan = model::next_step(here, kData.samples.known(), 10);
      EXPECT_TRUE(ledger
                      .append({.generation = model::Generation(plan.step.value() <= 5 ? 1 : 2),
                               .step = plan.step,
                               .epoch = plan.epoch,
                               .position = plan.positions.from,
                               .samples = plan.positions.size()})
                      .ok());
      here = plan.after();
    }
    records = ledger.records();
    keep("w-1", {records.begin(), records.begin() + 5});
    keep("w-2", records);
    const auto views = ViewsFile::open(disk, views_path("/job", "w-2")).value();
    EXPECT_TRUE(views->append(view(1, {"w-1", "w-2"})).ok());
    EXPECT_TRUE(views->append(view(2, {"w-2"})).ok());
  }

  void keep(const std::string& id, const LedgerLines& lines) {
    const auto file = LedgerFile::open(disk, ledger_path("/job", id)).value();
    EXPECT_TRUE(file->append_chained(lines).ok());
  }

  static model::View view(std::uint64_t generation, const std::vector<std::string>& ids) {
    model::View out;
    out.generation = model::Generation(generation);
    out.first_step = Step(generation == 1 ? 1 : 6);
    for (const std::string& id : ids) out.members.push_back({id, "", "", {}});
    for (std::uint32_t v = 0; v < kData.logical_workers; ++v) {
      out.members[v % ids.size()].logical.emplace_back(v);
    }
    out.batch = model::undivided_batch(10, kData.logical_workers);
    return out;
  }

  // What an honest worker writes for a part.
  TraceLine part(std::uint64_t step, std::uint32_t v) const {
    const LedgerRecord& record = records[step - 1];
    const model::LogicalWorker logical(v);
    return {record.step,       record.epoch, logical,
            record.generation, "w-2",        part_indices(kData, record, logical)};
  }
  void trace_all(const std::function<bool(TraceLine&)>& change) {
    auto trace = TraceSamples::open(disk, "/trace").value();
    for (const LedgerRecord& record : records) {
      for (std::uint32_t v = 0; v < kData.logical_workers; ++v) {
        TraceLine line = part(record.step.value(), v);
        if (line.indices.empty() || !change(line)) continue;
        EXPECT_TRUE(trace.add(line).ok());
      }
    }
  }

  Verification verified(const std::string& trace = "", const JobData& data = kData) const {
    auto result = verify_job(disk, {"/job", data, trace});
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    return result.ok() ? *result : Verification{};
  }

  os::Disk& disk;
  LedgerLines records;
};

TEST(VerifyJob, an_honest_job_is_proven_also_when_it_left_its_epoch_early) {
  Machine machine;
  machine.run([](os::Disk& disk) {
    const Job job(disk);
    const Verification verified = job.verified();
    EXPECT_TRUE(verified.proven()) << verified.reason;
    EXPECT_EQ(verified.steps, 25u);
    EXPECT_EQ(verified.epochs, 2u);
    EXPECT_EQ(verified.samples, 2 * 103 + 30u);
  });
}

TEST(VerifyJob, missing_files_make_it_incomplete) {
  Machine machine;
  machine.run([](os::Disk& disk) {
    Job job(disk);
    ASSERT_TRUE(disk.remove(ledger_path("/job", "w-1")).ok());
    EXPECT_TRUE(job.verified().proven()) << "others have it all";
    ASSERT_TRUE(disk.remove(ledger_path("/job", "w-2")).ok());
    EXPECT_EQ(job.verified().reason, "there is no ledger in /job/ledger");
    job.keep("w-1", {job.records.begin(), job.records.begin() + 5});
    const Verification half = job.verified();
    EXPECT_EQ(half.verdict, Verdict::kIncomplete);
    EXPECT_EQ(half.reason, "no member of the newest view, of generation 2, left a ledger");
    add_line(disk, "/job/events.jsonl", R"({"event":"finished","time":1,"steps":25})");
    EXPECT_EQ(job.verified().reason,
              "the job finished 25 steps, the ledgers have 5, and those of w-2 are missing");
  });
}

TEST(VerifyJob, a_ledger_that_ends_before_the_job_did_misses_samples) {
  Machine machine;
  machine.run([](os::Disk& disk) {
    const Job job(disk);
    add_line(disk, "/job/events.jsonl", R"({"event":"step","step":25,"note":"\"finished\""})");
    add_line(disk, "/job/events.jsonl", R"({"event":"finished","time":1,"steps":25})");
    EXPECT_TRUE(job.verified().proven());
    const auto file = disk.open(ledger_path("/job", "w-2"), os::Open::kWrite).value();
    ASSERT_TRUE(file->truncate(24 * model::kLedgerRecordBytes).ok());
    const Verification verified = job.verified();
    ASSERT_EQ(verified.verdict, Verdict::kViolated);
    EXPECT_EQ(verified.violations[0].kind, ViolationKind::kMissingSample);
    EXPECT_EQ(verified.violations[0].step, Step(25));
  });
}

TEST(VerifyJob, damage_is_told_and_a_torn_end_is_not) {
  Machine machine;
  machine.run([&](os::Disk& disk) {
    const Job job(disk);
    const std::string path = ledger_path("/job", "w-2");
    machine.disk().flip_bit(path, 7 * model::kLedgerRecordBytes + 60);
    const Verification verified = job.verified();
    ASSERT_EQ(verified.verdict, Verdict::kViolated);
    EXPECT_EQ(verified.violations[0].kind, ViolationKind::kUnreadable);
    EXPECT_EQ(verified.violations[0].step, Step(8));
    machine.disk().flip_bit(path, 7 * model::kLedgerRecordBytes + 60);
    const auto file = disk.open(path, os::Open::kAppend).value();
    ASSERT_TRUE(file->append(Bytes(200)).ok());
    EXPECT_TRUE(job.verified().proven());
    const auto record = model::encode(job.records[3]);
    ASSERT_TRUE(file->append(Bytes(40)).ok());
    ASSERT_TRUE(file->append(record).ok());
    EXPECT_EQ(job.verified().verdict, Verdict::kViolated) << "a hole";
  });
}

TEST(VerifyJob, a_trace_that_agrees_is_joined) {
  Machine machine;
  machine.run([](os::Disk& disk) {
    Job job(disk);
    job.trace_all([&](TraceLine& line) {
      // Parts that were finished before a change of view stay valid.
      if (line.step == Step(6) && line.v.value() < 2) line.generation = model::Generation(1);
      return true;
    });
    // An attempt of an older view, with another batch; a step that never became stable; a torn end.
    TraceLine old = job.part(6, 3);
    old.generation = model::Generation(1);
    old.indices.push_back(1);
    add_line(disk, "/trace", std::string(trim(trace_line(old))));
    old.step = Step(26);
    old.generation = model::Generation(2);
    add_line(disk, "/trace", std::string(trim(trace_line(old))));
    const auto file = disk.open("/trace", os::Open::kAppend).value();
    ASSERT_TRUE(file->append(bytes_of("{\"step\":3,")).ok());
    const Verification verified = job.verified("/trace");
    EXPECT_TRUE(verified.proven())
        << (verified.violations.empty() ? verified.reason : verified.violations[0].detail);
  });
}

// The verification of a trace in which the line of part 2 of step 7 was changed, or left out.
Verification with_changed_line(const std::function<bool(TraceLine&)>& change) {
  Machine machine;
  Verification verified;
  machine.run([&](os::Disk& disk) {
    Job job(disk);
    job.trace_all([&](TraceLine& line) {
      const bool here = line.step == Step(7) && line.v == model::LogicalWorker(2);
      return !here || change(line);
    });
    verified = job.verified("/trace");
  });
  EXPECT_EQ(verified.verdict, Verdict::kViolated);
  return verified;
}

TEST(VerifyJob, a_trace_that_differs_is_found) {
  const std::vector<std::function<void(TraceLine&)>> changes{
      [](TraceLine& line) { line.indices[0] ^= 1; },
      [](TraceLine& line) { std::swap(line.indices[0], line.indices[1]); },
      [](TraceLine& line) { line.indices.pop_back(); },
      [](TraceLine& line) { line.epoch = line.epoch.next(); },
      [](TraceLine& line) { line.v = model::LogicalWorker(4); }};
  for (const auto& change : changes) {
    const Verification verified = with_changed_line([&](TraceLine& line) {
      change(line);
      return true;
    });
    EXPECT_EQ(verified.violations.at(0).kind, ViolationKind::kConflictingStep);
    EXPECT_EQ(verified.violations.at(0).step, Step(7));
    EXPECT_EQ(verified.missing, 2u);
  }
}

TEST(VerifyJob, a_part_that_nobody_saw_is_missing) {
  const auto left_out = [](TraceLine&) { return false; };
  const auto of_a_view_to_come = [](TraceLine& line) {
    line.generation = model::Generation(9);
    return true;
  };
  for (const auto& verified : {with_changed_line(left_out), with_changed_line(of_a_view_to_come)}) {
    EXPECT_EQ(verified.violations.at(0).kind, ViolationKind::kMissingSample);
    EXPECT_EQ(verified.missing, 2u);
    EXPECT_EQ(verified.conflicting, 0u);
  }
}

TEST(VerifyJob, a_trace_with_one_right_and_one_wrong_line_of_a_part_conflicts) {
  Machine machine;
  machine.run([](os::Disk& disk) {
    Job job(disk);
    job.trace_all([](TraceLine&) { return true; });
    TraceLine wrong = job.part(3, 0);
    wrong.indices[1] = wrong.indices[0];
    add_line(disk, "/trace", std::string(trim(trace_line(wrong))));
    const Verification verified = job.verified("/trace");
    EXPECT_EQ(verified.conflicting, 1u);
    EXPECT_EQ(verified.missing, 0u);
    EXPECT_EQ(verified.verdict, Verdict::kViolated);
  });
}

TEST(VerifyJob, with_a_fixed_batch_a_wrong_line_of_any_view_conflicts) {
  Machine machine;
  machine.run([](os::Disk& disk) {
    Job job(disk);
    JobData fixed = kData;
    fixed.batch_is_fixed = true;
    job.trace_all([](TraceLine&) { return true; });
    TraceLine of_another_view = job.part(6, 3);
    of_another_view.generation = model::Generation(1);
    add_line(disk, "/trace", std::string(trim(trace_line(of_another_view))));
    EXPECT_TRUE(job.verified("/trace", fixed).proven());
    of_another_view.indices.push_back(1);
    add_line(disk, "/trace", std::string(trim(trace_line(of_another_view))));
    EXPECT_TRUE(job.verified("/trace").proven());
    const Verification verified = job.verified("/trace", fixed);
    EXPECT_EQ(verified.violations.at(0).kind, ViolationKind::kConflictingStep);
    EXPECT_EQ(verified.conflicting, 1u);
  });
}

TEST(Trace, a_line_is_read_as_it_was_written_and_nonsense_is_refused) {
  const TraceLine line{Step(3),
                       model::Epoch(1),
                       model::LogicalWorker(2),
                       model::Generation(4),
                       "w-\"1\"",
                       {5, 0, 18446744073709551615u}};
  const auto read = trace_line_from(trim(trace_line(line)));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(trace_line(*read), trace_line(line));
  for (const char* wrong : {"", "[]", "{}", R"({"step":1})", R"({"step":-1,"epoch":0,"v":0,)"}) {
    EXPECT_FALSE(trace_line_from(wrong).ok()) << wrong;
  }
}

TEST(Lines, are_read_whole_whatever_their_length) {
  Machine machine;
  machine.run([](os::Disk& disk) {
    const auto file = disk.open("/f", os::Open::kWrite).value();
    std::string content;
    for (const std::size_t length : {0, 1, 300'000, 5, 262'144, 0}) {
      content += std::string(length, 'x') + "\n";
    }
    ASSERT_TRUE(file->write_at(0, bytes_of(content + "cut")).ok());
    LineReader lines(*file, 300'000);
    for (const std::size_t length : {0, 1, 300'000, 5, 262'144, 0}) {
      const auto line = lines.next();
      ASSERT_TRUE(line.ok() && line->has_value());
      EXPECT_EQ((*line)->size(), length);
    }
    EXPECT_FALSE(lines.next()->has_value());
    EXPECT_TRUE(lines.cut());
    EXPECT_EQ(lines.line_number(), 6u);
    LineReader shorter(*file, 299'999);
    EXPECT_TRUE(shorter.next().ok());
    EXPECT_TRUE(shorter.next().ok());
    EXPECT_EQ(shorter.next().error().code, Code::kExhausted);
  });
}

}  // namespace
}  // namespace edl::data
