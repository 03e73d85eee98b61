// ResNet-18 on images of 32 x 32 in ten classes:
//   tools/fetch_data cifar-10
//   edl run build/release/examples/resnet [FOLDER [HELD_OUT]]
// The folder is build/data/cifar-10 when none is named, and all 10000 test images are held out.
#include "edl/torch/program.h"
#include "examples/resnet/net.h"

namespace F = torch::nn::functional;
using torch::Tensor;

// The binary files of CIFAR-10: ten thousand images each, a label and 3 x 32 x 32 bytes.
class Cifar final : public edl::torch::Dataset {
 public:
  static edl::Result<std::shared_ptr<const Dataset>> open(const std::vector<std::string>& paths,
                                                          uint64_t images = ~uint64_t{0}) {
    auto out = std::make_shared<Cifar>();
    out->size_ = std::min<uint64_t>(images, paths.size() * kImages);
    for (const std::string& path : paths) {
      EDL_TRY(out->files_.emplace_back(),
              edl::data::raw_file(path, edl::data::Dtype::kU8, {kImages, 1 + kPixels}));
    }
    return std::shared_ptr<const Dataset>(std::move(out));
  }
  uint64_t size() const override { return size_; }
  edl::Result<edl::torch::Batch> batch(std::span<const uint64_t> samples,
                                       const edl::torch::Draw&) const override {
    const auto count = static_cast<int64_t>(samples.size());
    Tensor images = torch::empty({count, 3, 32, 32}, torch::kUInt8);
    Tensor labels = torch::empty({count}, torch::kInt64);
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t sample = samples[static_cast<size_t>(i)];
      const std::byte* record =
          files_[sample / kImages].bytes.data() + sample % kImages * (1 + kPixels);
      labels[i] = static_cast<int64_t>(*record);
      std::memcpy(images[i].data_ptr(), record + 1, kPixels);
    }
    return edl::torch::Batch{images.to(torch::kFloat32).div_(127.5).sub_(1), labels};
  }

 private:
  static constexpr uint64_t kImages = 10'000;
  static constexpr uint64_t kPixels = 3 * 32 * 32;
  std::vector<edl::data::Array> files_;
  uint64_t size_ = 0;
};

// Up to four pixels to the side, and every second one mirrored.
Tensor shifted(const Tensor& image, const torch::Generator& random) {
  const Tensor drawn = torch::randint(18, {3}, random);
  const auto number = drawn.accessor<int64_t, 1>();
  const Tensor wide = torch::constant_pad_nd(image, {4, 4, 4, 4});
  const Tensor cut = wide.narrow(1, number[0] % 9, 32).narrow(2, number[1] % 9, 32);
  return number[2] % 2 == 0 ? cut : cut.flip(2);
}

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "build/data/cifar-10";
  const uint64_t held_out = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 10'000;
  auto program = edl::torch::program<ResNet18>(
      [](ResNet18& net) {
        return std::make_shared<torch::optim::SGD>(
            net.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9).weight_decay(5e-4));
      },
      [](ResNet18& net, const edl::torch::Batch& batch) {
        const Tensor scores = net.forward(batch.x);
        return edl::torch::Outcome(F::cross_entropy(scores, batch.y),
                                   {{"accuracy", edl::torch::accuracy(scores, batch.y)}});
      });
  program.metrics = {"accuracy"};
  program.data = [&]() -> edl::Result<std::shared_ptr<const edl::torch::Dataset>> {
    std::vector<std::string> paths;
    for (const char* number : {"1", "2", "3", "4", "5"}) {
      paths.push_back(folder + "/data_batch_" + number + ".bin");
    }
    return edl::torch::augmented(Cifar::open(paths), shifted);
  };
  program.test = [&] { return Cifar::open({folder + "/test_batch.bin"}, held_out); };
  program.batch = 128;
  program.epochs = 10;
  return edl::torch::run(argc, argv, program);
}
