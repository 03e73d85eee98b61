// All-reduce between processes of this machine: EDL's beside gloo's and Open MPI's, and what one
// copy in memory costs. Every size is measured in rounds that go through all engines, and the
// median of the rounds is told, so that a slow moment of the machine meets all of them.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "bench/allreduce/commands.h"
#include "bench/allreduce/group.h"
#include "bench/allreduce/numbers.h"
#include "bench/table.h"
#include "edl/base/text.h"
#include "edl/collective/digest.h"

namespace edl::bench {
namespace {

constexpr int kRounds = 5;

// An engine with one of its algorithms or transports.
struct Way {
  std::string impl;
  std::string algorithm;
  Group* group = nullptr;
  std::vector<double> times{};
};

class Engines {
 public:
  Engines() {
    char name[] = "/tmp/edl-allreduce-XXXXXX";
    folder_ = ::mkdtemp(name);
    programs_ = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "engines";
  }
  ~Engines() {
    groups_.clear();
    std::filesystem::remove_all(folder_);
  }

  // The same program once for each rank.
  Group* start(const std::string& name, int procs, const Group::Line& options = {}) {
    if (!is_there(name)) return nullptr;
    const std::string folder = fresh_folder();
    std::vector<Group::Line> lines;
    for (int rank = 0; rank < procs; ++rank) {
      lines.push_back({program(name), std::to_string(rank), std::to_string(procs), folder});
      lines.back().insert(lines.back().end(), options.begin(), options.end());
    }
    groups_.push_back(std::make_unique<Group>(lines));
    return groups_.back().get();
  }
  Group* start_mpi(int procs, const std::vector<std::string>& options) {
    if (!is_there("openmpi")) return nullptr;
    Group::Line line{"mpirun", "--allow-run-as-root", "--oversubscribe", "-n",
                     std::to_string(procs)};
    line.insert(line.end(), options.begin(), options.end());
    line.push_back(program("openmpi"));
    groups_.push_back(std::make_unique<Group>(std::vector<Group::Line>{line}));
    return groups_.back().get();
  }

 private:
  std::string program(const std::string& name) const { return programs_ / ("allreduce_" + name); }
  bool is_there(const std::string& name) {
    if (std::filesystem::exists(program(name))) return true;
    std::fprintf(stderr,
                 "ALLREDUCE IS NOT COMPARED WITH %s: it was not there at build time. "
                 "Run `tools/setup bench`, then configure and build again.\n",
                 name.c_str());
    return false;
  }
  std::string fresh_folder() {
    const std::string folder = text(folder_, "/", ++folders_);
    std::filesystem::create_directory(folder);
    return folder;
  }

  std::string folder_;
  int folders_ = 0;
  std::filesystem::path programs_;
  std::vector<std::unique_ptr<Group>> groups_;
};

std::vector<Way> ways_for(Engines& engines, int procs) {
  std::vector<Way> ways{{"edl-tcp", "tree", engines.start("edl", procs)},
                        {"edl-unix", "tree", engines.start("edl", procs, {"unix"})}};
  Group* gloo = engines.start("gloo", procs);
  for (const char* algorithm : {"ring", "bcube", "halving_doubling", "ring_chunked"}) {
    ways.push_back({"gloo", algorithm, gloo});
  }
  ways.push_back({"openmpi", "shared_memory", engines.start_mpi(procs, {})});
  ways.push_back({"openmpi", "tcp", engines.start_mpi(procs, {"--mca", "btl", "tcp,self"})});
  std::erase_if(ways, [](const Way& way) { return way.group == nullptr; });
  return ways;
}

// The best of an engine's ways, by median.
void tell(Table& table, const std::vector<Way>& ways, int procs, std::uint64_t bytes) {
  std::map<std::string, std::pair<double, std::string>> best;
  for (const Way& way : ways) {
    if (way.times.empty()) continue;
    const double time = median(way.times);
    const auto [found, is_new] = best.try_emplace(way.impl, time, way.algorithm);
    if (!is_new && time < found->second.first) found->second = {time, way.algorithm};
  }
  for (const auto& [impl, what] : best) {
    table.row({{"impl", impl},
               {"procs", procs},
               {"bytes", bytes},
               {"ms", what.first},
               {"way", what.second}});
  }
}

void compare(Table& table, std::vector<Way>& ways, int procs, std::uint64_t bytes) {
  const int repeats = bytes <= 65536 ? 50 : bytes <= 1 << 20 ? 20 : bytes <= 10'000'000 ? 5 : 2;
  for (Way& way : ways) way.times.clear();
  for (int round = 0; round < kRounds; ++round) {
    for (Way& way : ways) {
      if (way.group == nullptr) continue;
      const auto answer = way.group->ask(text(way.algorithm, " ", bytes, " ", repeats));
      if (!answer.ok()) {
        std::fprintf(stderr, "%s is out: %s\n", way.impl.c_str(), answer.error().message.c_str());
        Group* broken = way.group;
        for (Way& other : ways) {
          if (other.group == broken) other.group = nullptr;
        }
        continue;
      }
      const double took = std::stod(*answer);
      if (took >= 0) way.times.push_back(took);
    }
  }
  tell(table, ways, procs, bytes);
}

void tell_limit(Table& table, std::uint64_t bytes) {
  Bytes from(bytes, std::byte{1});
  Bytes to(bytes, std::byte{2});
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    times.push_back(measure(3, [&] { std::memcpy(to.data(), from.data(), bytes); }));
  }
  table.row(
      {{"impl", "limit"}, {"procs", 1}, {"bytes", bytes}, {"ms", median(times)}, {"way", "copy"}});
}

// What a plain all-reduce does: each process adds its own, then rank after rank.
std::string rank_order_digest(std::uint32_t logical, std::uint32_t procs) {
  std::optional<Bytes> sum;
  for (std::uint32_t rank = 0; rank < procs; ++rank) {
    std::optional<Bytes> own;
    for (std::uint32_t v = 0; v < logical; ++v) {
      if (v * procs / logical != rank) continue;
      Bytes part = part_numbers(kDigestNumbers, v);
      if (own) add_numbers(*own, part);
      if (!own) own = std::move(part);
    }
    if (sum) add_numbers(*sum, *own);
    if (!sum) sum = std::move(own);
  }
  std::vector<collective::BlockHash> hashes;
  for (std::size_t at = 0; at < sum->size(); at += collective::kBlockBytes) {
    const std::size_t length = std::min<std::size_t>(collective::kBlockBytes, sum->size() - at);
    hashes.push_back(collective::block_hash(ConstBytes(*sum).subspan(at, length)));
  }
  return hex(collective::step_digest(hashes));
}

void tell_digests(Table& table, Engines& engines) {
  constexpr std::uint32_t kLogical = 8;
  for (const int procs : {1, 2, 3, 4, 8}) {
    Group* group = engines.start("edl", procs);
    const auto digest = group->ask(text("digest ", kLogical));
    table.row({{"digest", digest.ok() ? *digest : digest.error().message},
               {"logical", kLogical},
               {"procs", procs},
               {"order", "canonical"}});
    table.row({{"digest", rank_order_digest(kLogical, static_cast<std::uint32_t>(procs))},
               {"logical", kLogical},
               {"procs", procs},
               {"order", "rank"}});
  }
}

void fill(Table& table) {
  const std::vector<std::uint64_t> sizes{1024,    16 << 10,   65536,      256 << 10,
                                         1 << 20, 10'000'000, 100'000'000};
  for (const int procs : {2, 4}) {
    Engines engines;
    std::vector<Way> ways = ways_for(engines, procs);
    for (const std::uint64_t bytes : sizes) compare(table, ways, procs, bytes);
  }
  for (const std::uint64_t bytes : sizes) tell_limit(table, bytes);
  Engines engines;
  tell_digests(table, engines);
}

}  // namespace
}  // namespace edl::bench

int main(int argc, char** argv) {
  return edl::bench::run(argc, argv,
                         {"impl", "procs", "bytes", "ms", "way", "logical", "order", "digest"},
                         edl::bench::fill);
}
