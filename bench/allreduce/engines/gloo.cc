// gloo's all-reduce as an engine of the benchmark.
//   gloo RANK PROCS FOLDER
#include <gloo/allreduce.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <memory>
#include <vector>

#include "bench/allreduce/commands.h"

namespace {

using Context = std::shared_ptr<gloo::rendezvous::Context>;

// What one round does; empty when gloo has no such algorithm.
std::function<void()> round_of(const Context& context, const std::string& algorithm,
                               std::vector<float>& data) {
  const auto count = static_cast<int>(data.size());
  const std::vector<float*> pointers{data.data()};
  const auto run = [](auto made) { return [made] { made->run(); }; };
  if (algorithm == "halving_doubling") {
    return run(std::make_shared<gloo::AllreduceHalvingDoubling<float>>(context, pointers, count));
  }
  if (algorithm == "ring_chunked") {
    return run(std::make_shared<gloo::AllreduceRingChunked<float>>(context, pointers, count));
  }
  if (algorithm != "ring" && algorithm != "bcube") return nullptr;
  auto options = std::make_shared<gloo::AllreduceOptions>(context);
  options->setOutput(data.data(), data.size());
  void (*sum)(void*, const void*, const void*, std::size_t) = &gloo::sum<float>;
  options->setReduceFunction(sum);
  using Algorithm = gloo::AllreduceOptions::Algorithm;
  options->setAlgorithm(algorithm == "ring" ? Algorithm::RING : Algorithm::BCUBE);
  return [options] { gloo::allreduce(*options); };
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int rank = std::stoi(argv[1]);
  gloo::transport::tcp::attr attributes;
  attributes.iface = "lo";
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  gloo::rendezvous::FileStore store(argv[3]);
  const auto context = std::make_shared<gloo::rendezvous::Context>(rank, std::stoi(argv[2]));
  context->connectFullMesh(store, device);
  edl::bench::Command command;
  while (edl::bench::read_command(command)) {
    std::vector<float> data(command.number / sizeof(float), 1.0F);
    const auto round = round_of(context, command.algorithm, data);
    const double took = round ? edl::bench::measure(command.rounds, round) : -1;
    if (rank == 0) std::cout << took << std::endl;
  }
}
