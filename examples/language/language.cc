// A language model that reads one byte after the other and says which comes next:
//   edl run build/release/examples/language [FILE]
// The file is examples/language/text.txt when none is named: what EDL's documentation said one day.
// Its last tenth is held out.
#include "edl/torch/program.h"

namespace F = torch::nn::functional;
using torch::Tensor;

constexpr int64_t kBytes = 256;
constexpr int64_t kLength = 64;  // bytes that it sees
constexpr int64_t kWidth = 96;
constexpr int64_t kHeads = 4;
constexpr int64_t kLayers = 3;

// Attention to what came before, then two layers on each byte alone.
struct Layer : torch::nn::Module {
  Layer()
      : before(register_module("before", norm())),
        look(register_module("look", torch::nn::Linear(kWidth, 3 * kWidth))),
        join(register_module("join", torch::nn::Linear(kWidth, kWidth))),
        between(register_module("between", norm())),
        think(register_module(
            "think", torch::nn::Sequential(torch::nn::Linear(kWidth, 4 * kWidth), torch::nn::GELU(),
                                           torch::nn::Linear(4 * kWidth, kWidth),
                                           torch::nn::Dropout(0.1)))) {}
  static torch::nn::LayerNorm norm() {
    return torch::nn::LayerNorm(torch::nn::LayerNormOptions({kWidth}));
  }
  Tensor attend(const Tensor& x) {
    const auto length = x.size(1);
    const auto parts =
        look(x).view({-1, length, 3, kHeads, kWidth / kHeads}).permute({2, 0, 3, 1, 4});
    const Tensor scores = parts[0].matmul(parts[1].transpose(-1, -2)) / std::sqrt(kWidth / kHeads);
    const Tensor later = torch::ones({length, length}, torch::kBool).triu(1);
    const Tensor weights = scores.masked_fill(later, -1e9).softmax(-1);
    return join(weights.matmul(parts[2]).transpose(1, 2).reshape({-1, length, kWidth}));
  }
  Tensor forward(const Tensor& x) {
    const Tensor seen = x + attend(before(x));
    return seen + think->forward(between(seen));
  }
  torch::nn::LayerNorm before;
  torch::nn::Linear look;
  torch::nn::Linear join;
  torch::nn::LayerNorm between;
  torch::nn::Sequential think;
};

struct Language : torch::nn::Module {
  Language() {
    bytes = register_module("bytes", torch::nn::Embedding(kBytes, kWidth));
    places = register_module("places", torch::nn::Embedding(kLength, kWidth));
    for (int64_t i = 0; i < kLayers; ++i) layers->push_back(Layer());
    register_module("layers", layers);
    end = register_module("end", Layer::norm());
  }
  // The scores of what follows each byte. What a byte looks like coming in and going out is one
  // and the same table.
  Tensor forward(const Tensor& x) {
    const Tensor here = bytes(x) + places(torch::arange(x.size(1)));
    return end(layers->forward(here)).matmul(bytes->weight.t());
  }
  torch::nn::Embedding bytes{nullptr};
  torch::nn::Embedding places{nullptr};
  torch::nn::Sequential layers;
  torch::nn::LayerNorm end{nullptr};
};

// Pieces of the text that overlap by half; what is to be said is the piece one byte later.
class Pieces final : public edl::torch::Dataset {
 public:
  Pieces(edl::data::Array text, uint64_t from, uint64_t to)
      : text_(std::move(text)), from_(from), count_((to - from - kLength - 1) / kEvery + 1) {}
  uint64_t size() const override { return count_; }
  edl::Result<edl::torch::Batch> batch(std::span<const uint64_t> samples,
                                       const edl::torch::Draw&) const override {
    Tensor pieces =
        torch::empty({static_cast<int64_t>(samples.size()), kLength + 1}, torch::kUInt8);
    for (size_t i = 0; i < samples.size(); ++i) {
      const std::byte* piece = text_.bytes.data() + from_ + samples[i] * kEvery;
      std::memcpy(pieces[static_cast<int64_t>(i)].data_ptr(), piece, kLength + 1);
    }
    pieces = pieces.to(torch::kInt64);
    return edl::torch::Batch{pieces.narrow(1, 0, kLength), pieces.narrow(1, 1, kLength)};
  }

 private:
  static constexpr uint64_t kEvery = kLength / 2;
  const edl::data::Array text_;
  const uint64_t from_;
  const uint64_t count_;
};

// The first nine tenths of the text, or the rest.
edl::Result<std::shared_ptr<const edl::torch::Dataset>> pieces(const std::string& path, bool last) {
  EDL_TRY(edl::data::Array text, edl::data::bytes_file(path));
  const uint64_t size = text.bytes.size();
  const uint64_t cut = size / 10 * 9;
  if (size - cut < 2 * kLength) {
    return edl::Error{edl::Code::kInvalid, path + " is too short to learn from: it needs 2 KB"};
  }
  return std::make_shared<Pieces>(std::move(text), last ? cut : 0, last ? size : cut);
}

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "examples/language/text.txt";
  auto program = edl::torch::program<Language>(
      [](Language& net) { return std::make_shared<torch::optim::AdamW>(net.parameters(), 3e-3); },
      [](Language& net, const edl::torch::Batch& batch) {
        const Tensor scores = net.forward(batch.x).flatten(0, 1);
        const Tensor next = batch.y.flatten();
        return edl::torch::Outcome(F::cross_entropy(scores, next),
                                   {{"accuracy", edl::torch::accuracy(scores, next)}});
      });
  program.metrics = {"accuracy"};
  program.data = [&] { return pieces(path, false); };
  program.test = [&] { return pieces(path, true); };
  program.batch = 64;
  program.epochs = 6;
  program.clip_norm = 1.0;
  return edl::torch::run(argc, argv, program);
}
