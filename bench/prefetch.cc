// What loading images ahead is worth: a small convolutional network on a folder of JPEG files, with
// 0, 1 and 2 data threads, one after the other in each round.
#include <filesystem>
#include <fstream>

#include "bench/table.h"
#include "edl/base/text.h"
#include "edl/data/image_bytes_test.h"
#include "edl/model/order.h"
#include "edl/os/posix/machine.h"
#include "edl/torch/trainee.h"

namespace edl {
namespace {

namespace nn = ::torch::nn;

constexpr std::uint64_t kImages = 320;
constexpr std::uint64_t kBatch = 32;
constexpr std::uint32_t kSide = 64;
constexpr int kRounds = 7;

struct Net : nn::Module {
  Net() {
    layers = register_module("layers", nn::Sequential());
    for (const auto& [in, out] : {std::pair(3, 16), std::pair(16, 32)}) {
      layers->push_back(nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1)));
      layers->push_back(nn::ReLU());
      layers->push_back(nn::MaxPool2d(4));
    }
    layers->push_back(nn::Flatten());
    layers->push_back(nn::Linear(32 * kSide / 16 * kSide / 16, 4));
  }
  ::torch::Tensor forward(const ::torch::Tensor& x) { return layers->forward(x); }
  nn::Sequential layers{nullptr};
};

// Photographs are of about this size.
void write_images(const std::string& folder) {
  for (std::uint64_t i = 0; i < kImages; ++i) {
    const std::string place = text(folder, "/class", i % 4);
    std::filesystem::create_directories(place);
    data::Image image = data::slope({320, 240}, 3);
    for (std::size_t at = 0; at < image.pixels.size(); at += 7) image.pixels[at] ^= std::byte(i);
    std::ofstream(text(place, "/", i, ".jpg"), std::ios::binary) << data::jpeg_bytes(image);
  }
}

torch::Program program_with(std::uint32_t threads) {
  torch::Program out = torch::program<Net>(
      [](Net& net) { return std::make_shared<::torch::optim::SGD>(net.parameters(), 0.01); },
      [](Net& net, const torch::Batch& batch) {
        return nn::functional::cross_entropy(net.forward(batch.x), batch.y);
      });
  out.data_threads = threads;
  return out;
}

// A trainee that trains step after step, as a worker that is alone would.
class Trained {
 public:
  Trained(std::uint32_t threads, const std::shared_ptr<const torch::Dataset>& data)
      : threads_(threads),
        trainee_(torch::TorchTrainee::make(program_with(threads), data).value()) {
    for (const auto& segment : trainee_->segments()) memory_.emplace_back(segment.count * 8);
    EDL_CHECK(trainee_->initialise(1).ok());
  }

  std::uint32_t threads() const { return threads_; }
  // Seconds of a step, as the median over an epoch.
  double epoch() {
    std::vector<double> times;
    for (std::uint64_t at = 0; at < kImages; at += kBatch) {
      times.push_back(bench::seconds_of([&] { step(); }));
    }
    return bench::median(times);
  }
  double loss() const { return loss_; }

 private:
  train::Part part_at(const model::StepPlan& plan) const {
    train::Part part{.step = plan.step, .epoch = plan.epoch, .step_samples = kBatch};
    part.micro = kBatch;
    part.random_seed = plan.step.value();
    const model::SampleOrder order(kImages, 1, plan.epoch);
    for (std::uint64_t p = plan.positions.from; p < plan.positions.to; ++p) {
      part.indices.push_back(order.at(p));
    }
    return part;
  }
  void step() {
    const model::StepPlan plan = model::next_step(here_, kImages, kBatch);
    here_ = plan.after();
    trainee_->upcoming(part_at(model::next_step(here_, kImages, kBatch)));
    const std::vector<ByteSpan> sums(memory_.begin(), memory_.end());
    loss_ = trainee_->compute(part_at(plan), {sums}).value().loss;
    const std::vector<ConstBytes> reduced(memory_.begin(), memory_.end());
    EDL_CHECK(trainee_->apply({.step = plan.step, .samples = kBatch, .sums = reduced}).ok());
  }

  const std::uint32_t threads_;
  const std::unique_ptr<train::Trainee> trainee_;
  std::vector<Bytes> memory_;
  model::Position here_{};
  double loss_ = 0;
};

void fill(bench::Table& table) {
  const std::string folder =
      text(std::filesystem::temp_directory_path().string(), "/prefetch-", os::this_machine().pid);
  write_images(folder);
  const auto data = torch::image_folder(folder, {.width = kSide, .height = kSide}).value();
  std::vector<std::unique_ptr<Trained>> all;
  for (const std::uint32_t threads : {0U, 1U, 2U}) {
    all.push_back(std::make_unique<Trained>(threads, data));
  }
  std::vector<std::vector<double>> times(all.size());
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) times[i].push_back(all[i]->epoch());
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double median = bench::median(times[i]);
    table.row({{"data_threads", all[i]->threads()},
               {"step_ms", median * 1e3},
               {"images_per_s", static_cast<double>(kBatch) / median},
               {"loss", all[i]->loss()}});
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace edl

int main(int argc, char** argv) {
  return edl::bench::run(argc, argv, {"data_threads", "step_ms", "images_per_s", "loss"},
                         edl::fill);
}
