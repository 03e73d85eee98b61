// EDL's all-reduce over TCP or Unix sockets as an engine of the benchmark.
//   edl RANK PROCS FOLDER [unix]
#include "bench/allreduce/member.h"

int main(int argc, char** argv) {
  const bool is_unix = argc == 5 && std::string_view(argv[4]) == "unix";
  if (argc != 4 && !is_unix) return 2;
  const auto rank = static_cast<std::uint32_t>(std::stoul(argv[1]));
  const auto procs = static_cast<std::uint32_t>(std::stoul(argv[2]));
  edl::bench::Member member({.rank = rank, .procs = procs, .folder = argv[3], .is_unix = is_unix});
  edl::bench::Command command;
  while (edl::bench::read_command(command)) {
    if (command.algorithm == "digest") {
      const auto digest = member.digest(static_cast<std::uint32_t>(command.number));
      if (rank == 0) std::cout << digest << std::endl;
    } else {
      const double took = member.run(command, {});
      if (rank == 0) std::cout << took << std::endl;
    }
  }
}
