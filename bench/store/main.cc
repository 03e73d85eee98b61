// The embedded store and etcd side by side on one disk: calls, watches, memory, restarts.
//
//   store [--json=FILE] [--quick | --full] [--only=calls|crowd|growth] [--dir=DIR] [--edl=PROGRAM]
//         [--against=PROGRAM]
//
// --against names another build of edl, which then takes etcd's place: for before and after.
#include <sys/resource.h>

#include <cstdio>
#include <filesystem>

#include "bench/store/crowd.h"
#include "bench/store/growth.h"
#include "edl/base/text.h"

namespace edl::bench {
namespace {

constexpr const char* kEtcd = "/usr/bin/etcd";

struct Options {
  std::string json;
  std::string dir = "build/bench-store";  // on a disk, and not in memory
  std::string edl;
  std::string only;
  std::string against;
  bool quick = false;
  bool full = false;

  bool wants(std::string_view part) const { return only.empty() || only == part; }
};

Result<Options> parse(int argc, char** argv) {
  Options options;
  const auto here = std::filesystem::path(argv[0]).parent_path();
  options.edl = (here / "../bin/edl").lexically_normal().string();
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::string value(word.substr(std::min(word.size(), word.find('=') + 1)));
    if (word == "--quick") {
      options.quick = true;
    } else if (word == "--full") {
      options.full = true;
    } else if (word.starts_with("--json=")) {
      options.json = value;
    } else if (word.starts_with("--dir=")) {
      options.dir = value;
    } else if (word.starts_with("--edl=")) {
      options.edl = value;
    } else if (word.starts_with("--against=")) {
      options.against = value;
    } else if (word == "--only=calls" || word == "--only=crowd" || word == "--only=growth") {
      options.only = value;
    } else {
      return Error{
          Code::kInvalid,
          text("unknown argument ", word, "; it takes --json=FILE, --quick, --full, ",
               "--only=calls|crowd|growth, --dir=DIR, --edl=PROGRAM and --against=PROGRAM")};
    }
  }
  return options;
}

class Bench {
 public:
  Bench(const Options& options, Table& table)
      : options_(options),
        table_(table),
        folder_(options.dir + "/run"),
        has_other_(!options.against.empty() || std::filesystem::exists(kEtcd)) {}

  Result<void> run() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    if (!has_other_) {
      std::fprintf(stderr, "NOT COMPARED: there is no %s on this machine\n", kEtcd);
    }
    if (options_.wants("calls") || options_.wants("crowd")) EDL_TRY(run_together());
    if (options_.wants("growth")) EDL_TRY(run_growth());
    std::filesystem::remove_all(folder_);
    return {};
  }

 private:
  Result<std::unique_ptr<Server>> other_server(const std::string& folder) {
    if (options_.against.empty()) return etcd_server(*system_, kEtcd, folder);
    return embedded_server(*system_, "before", options_.against, folder);
  }

  Result<void> run_together() {
    Targets targets;
    EDL_TRY(auto ours, embedded_server(*system_, "embedded", options_.edl, folder_ + "/embedded"));
    EDL_TRY(ours->start());
    targets.emplace_back(std::move(ours));
    if (has_other_) {
      EDL_TRY(auto theirs, other_server(folder_ + "/other"));
      EDL_TRY(theirs->start());
      targets.emplace_back(std::move(theirs));
    }
    Sizes sizes;
    CrowdSizes crowd;
    if (options_.quick) {
      sizes = {.rounds = 3, .count = 30, .count_each = 10};
      crowd = {.watchers = 200, .rounds = 2, .count = 3};
    }
    if (options_.wants("calls")) EDL_TRY(measure_calls(*system_, targets, table_, sizes));
    if (options_.wants("crowd")) EDL_TRY(measure_crowd(*system_, targets, table_, crowd));
    return {};
  }

  Result<void> run_growth() {
    std::vector<std::size_t> sizes{10'000, 100'000};
    if (options_.quick) sizes = {1'000, 5'000};
    std::vector<std::size_t> more = sizes;
    if (!options_.quick) more.push_back(1'000'000);
    EDL_TRY(auto ours,
            embedded_server(*system_, "embedded", options_.edl, folder_ + "/embedded-keys"));
    EDL_TRY(measure_growth(*system_, std::move(ours), more, table_));
    if (!has_other_) return {};
    EDL_TRY(auto theirs, other_server(folder_ + "/other-keys"));
    return measure_growth(*system_, std::move(theirs), options_.full ? more : sizes, table_);
  }

  const Options& options_;
  Table& table_;
  const std::string folder_;
  const bool has_other_;
  const std::unique_ptr<LogSink> sink_ = stderr_log_sink(Level::kWarn);
  const std::unique_ptr<os::PosixSystem> system_ =
      os::posix_system({.log_sink = sink_.get(), .name = "bench"});
};

// A connection for each watcher, here and in the servers that we start.
void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace
}  // namespace edl::bench

int main(int argc, char** argv) {
  using namespace edl;
  const auto options = bench::parse(argc, argv);
  if (!options.ok()) {
    std::fprintf(stderr, "%s: %s\n", argv[0], options.error().message.c_str());
    return 2;
  }
  bench::allow_many_files();
  bench::Table table(options->json, {"server", "what", "clients", "n", "p50_us", "p90_us", "p99_us",
                                     "all_p99_us", "per_second", "bytes", "seconds", "note"});
  const auto done = bench::Bench(*options, table).run();
  if (!done.ok()) std::fprintf(stderr, "%s: %s\n", argv[0], done.error().message.c_str());
  const int finished = table.finish();
  return done.ok() ? finished : 1;
}
