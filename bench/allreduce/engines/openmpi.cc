// Open MPI's all-reduce as an engine of the benchmark; mpirun starts it. Only the first rank has
// the input; the others look for a command now and then, because waiting in MPI would burn their
// cores.
#include <mpi.h>
#include <poll.h>

#include <cstring>
#include <vector>

#include "bench/allreduce/commands.h"

namespace {

constexpr int kLineMax = 256;

bool next_command(int rank, int procs, edl::bench::Command& command) {
  char line[kLineMax] = {};
  if (rank == 0) {
    std::string words;
    if (std::getline(std::cin, words)) std::strncpy(line, words.c_str(), kLineMax - 1);
    for (int to = 1; to < procs; ++to) MPI_Send(line, kLineMax, MPI_CHAR, to, 0, MPI_COMM_WORLD);
  } else {
    int there = 0;
    while (true) {
      MPI_Iprobe(0, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
      if (there != 0) break;
      ::poll(nullptr, 0, 1);
    }
    MPI_Recv(line, kLineMax, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return edl::bench::parse_command(line, command);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int procs = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &procs);
  edl::bench::Command command;
  while (next_command(rank, procs, command)) {
    std::vector<float> data(command.number / sizeof(float), 1.0F);
    const double took = edl::bench::measure(command.rounds, [&] {
      MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
    });
    if (rank == 0) std::cout << took << std::endl;
  }
  MPI_Finalize();
}
