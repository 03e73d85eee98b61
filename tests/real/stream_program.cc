// Trains on records of files: `known FOLDER` on those that are there, `stream FOLDER` on those that
// come. A record is a line "x,y", or with a third argument `tfrecord` the same in a TFRecord.
#include <cstring>

#include "edl/base/text.h"
#include "edl/torch/program.h"

namespace {

struct Net : torch::nn::Module {
  Net() : layer(register_module("layer", torch::nn::Linear(2, 1))) {}
  torch::nn::Linear layer;
};

edl::Result<edl::torch::Batch> parse(edl::ConstBytes record) {
  const auto words = edl::split(edl::text_of(record), ',');
  if (words.size() != 2) return edl::Error{edl::Code::kInvalid, "it is not x,y"};
  const float x = std::stof(std::string(words[0]));
  return edl::torch::Batch{torch::tensor({x, x * x}),
                           torch::tensor({std::stof(std::string(words[1]))})};
}

}  // namespace

int main(int argc, char** argv) {
  auto program = edl::torch::program<Net>(
      [](Net& net) { return std::make_shared<torch::optim::Adam>(net.parameters(), 0.01); },
      [](Net& net, const edl::torch::Batch& batch) {
        return torch::nn::functional::mse_loss(net.layer(batch.x), batch.y);
      });
  const bool is_stream = argc > 1 && std::strcmp(argv[1], "stream") == 0;
  const std::string folder = argc > 2 ? argv[2] : ".";
  const bool is_framed = argc > 3 && std::strcmp(argv[3], "tfrecord") == 0;
  const auto format = is_framed ? edl::data::tfrecords() : edl::data::text_lines();
  program.data =
      [=](edl::data::Cache& cache) -> edl::Result<std::shared_ptr<const edl::torch::Dataset>> {
    if (!is_stream) {
      return edl::torch::records(edl::data::record_files(cache, folder, "*.part", format), parse);
    }
    return edl::torch::record_stream(
        folder, {.pattern = "*.part", .format = format, .partition = {.records_max = 100}}, parse);
  };
  program.batch = 64;
  program.logical_workers = 4;
  return edl::torch::run(argc, argv, program);
}
