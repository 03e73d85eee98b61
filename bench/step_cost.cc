// What a training step does beside its sums, on two processes over TCP: beats between the members,
// the digest, the ledger, the report of the step. Each part is added to the bare sums alone, then
// all together, in rounds that go through all of them; ratios are those of one round.
//   step_cost member RANK PROCS FOLDER    one of the two processes
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "bench/allreduce/group.h"
#include "bench/allreduce/member.h"
#include "bench/table.h"
#include "edl/base/text.h"
#include "edl/train/keeper.h"
#include "edl/train/reporter.h"

namespace edl::bench {
namespace {

constexpr int kRounds = 9;
constexpr int kProcs = 2;

struct Size {
  std::uint64_t bytes = 0;
  int steps = 0;  // of one measurement
};
constexpr Size kSizes[] = {{1024, 1000}, {10'000'000, 20}};
constexpr const char* kParts[] = {"sums",          "beats",  "digest", "ledger",
                                  "digest+ledger", "report", "all"};

// As a worker does it: the ledger is written by a thread of its own, and told when it is stable.
class Bookkeeping {
 public:
  Bookkeeping(os::PosixSystem& system, const std::string& folder, std::uint32_t rank)
      : files_(system, "edl-files"), keeper_(system, files_, folder, text("w", rank)) {
    keeper_.open([&system](const Result<void>& opened) {
      EDL_CHECK(opened.ok());
      system.finish(0);
    });
    system.run();
    reporter_.tell_from({}, {});
  }

  void keep(const model::Digest& digest) {
    step_ = step_.next();
    keeper_.add_step({.generation = model::Generation(1),
                      .step = step_,
                      .epoch = {},
                      .position = (step_.value() - 1) * 64,
                      .samples = 64,
                      .digest = digest});
  }

  // The bytes that go to the agent.
  std::size_t report(const model::Digest& digest) {
    told_ = told_.next();
    reporter_.add(train::StepReport{.at = 1794813200.123456,
                                    .step = told_,
                                    .position = told_.value() * 64,
                                    .samples = 64,
                                    .loss = 0.0185901240329,
                                    .lr = 0.1,
                                    .workers = kProcs,
                                    .generation = model::Generation(1),
                                    .step_ms = 3.779438,
                                    .samples_per_second = 16073.364226,
                                    .digest = digest});
    reporter_.on_stable(told_);
    std::size_t bytes = 0;
    for (const train::Report& report : reporter_.take()) {
      bytes += json_line(train::json_of(report)).size();
    }
    return bytes;
  }

 private:
  train::ThreadExecutor files_;
  train::Keeper keeper_;
  train::Reporter reporter_;
  model::Step step_;
  model::Step told_;
};

int run_member(std::uint32_t rank, const std::string& folder) {
  Member member({.rank = rank, .procs = kProcs, .folder = folder});
  Bookkeeping books(member.system(), folder, rank);
  Command command;
  while (read_command(command)) {
    const auto has = [&](std::string_view part) {
      return command.algorithm == "all" || command.algorithm.find(part) != std::string::npos;
    };
    const bool keeps = has("ledger");
    const bool reports = has("report") && rank == 0;  // one member's are wanted
    Member::Extras extras{.hashes = has("digest"), .beats = has("beats")};
    extras.each_step = [&](model::Step, const model::Digest& digest) {
      if (keeps) books.keep(digest);
      if (reports) books.report(digest);
    };
    const double took = member.run(command, extras);
    if (rank == 0) std::cout << took << std::endl;
  }
  return 0;
}

// Digest and ledger may cost a step of 1 KB 20 us, and one of 10 MB a tenth more.
Json is_met(std::string_view part, std::uint64_t bytes, double ratio, double added_us) {
  constexpr double kAddedUsMax = 20;
  constexpr double kRatioMax = 1.10;
  if (part != "digest+ledger") return nullptr;
  return bytes < 65536 ? added_us <= kAddedUsMax : ratio <= kRatioMax;
}

Result<void> measure_size(Table& table, Group& group, const Size& size) {
  std::map<std::string, std::vector<double>> times;
  std::map<std::string, std::vector<double>> ratios;
  for (int round = 0; round < kRounds; ++round) {
    for (const char* part : kParts) {
      EDL_TRY(const std::string answer, group.ask(text(part, " ", size.bytes, " ", size.steps)));
      times[part].push_back(std::stod(answer));
      ratios[part].push_back(times[part].back() / times["sums"].back());
    }
  }
  for (const char* part : kParts) {
    const double added_us = 1000 * (median(times[part]) - median(times["sums"]));
    const double ratio = median(ratios[part]);
    table.row({{"part", part},
               {"bytes", size.bytes},
               {"ms", median(times[part])},
               {"ratio", ratio},
               {"added_us", added_us},
               {"met", is_met(part, size.bytes, ratio, added_us)}});
  }
  return {};
}

void fill(Table& table) {
  char name[] = "/tmp/edl-step-cost-XXXXXX";
  const std::string folder = ::mkdtemp(name);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  std::vector<Group::Line> lines;
  for (int rank = 0; rank < kProcs; ++rank) {
    lines.push_back({self, "member", std::to_string(rank), std::to_string(kProcs), folder});
  }
  {
    Group group(lines);
    for (const Size& size : kSizes) {
      const auto done = measure_size(table, group, size);
      if (!done.ok()) std::fprintf(stderr, "step_cost: %s\n", done.error().message.c_str());
    }
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace edl::bench

int main(int argc, char** argv) {
  if (argc == 5 && std::string_view(argv[1]) == "member") {
    return edl::bench::run_member(static_cast<std::uint32_t>(std::stoul(argv[2])), argv[4]);
  }
  return edl::bench::run(argc, argv, {"part", "bytes", "ms", "ratio", "added_us", "met"},
                         edl::bench::fill);
}
