// What the ramp of the learning rate is worth when the batch grows at once: builtin:mlp's network
// with SGD and momentum, 40 steps with a batch of 32, then 60 with one eight times as large under
// the rule `linear`; once with the ramp that views carry, once without. Several seeds, the same
// samples for both.
//   momentum [--json=FILE] [--svg=FILE]        the picture of docs/reference/batch.md
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <optional>

#include "bench/table.h"
#include "edl/base/text.h"
#include "edl/batch/rate.h"
#include "edl/model/order.h"
#include "edl/model/position.h"
#include "edl/train/builtin/mlp.h"

namespace edl {
namespace {

constexpr std::uint64_t kSteps = 100;
constexpr std::uint64_t kGrowsAfter = 40;
constexpr std::uint64_t kBatch = 32;
constexpr std::uint64_t kTimes = 8;
constexpr double kRate = 0.2;
constexpr float kMomentum = 0.9F;
constexpr std::uint64_t kSeeds = 8;
constexpr double kChance = 2.302585;  // ln 10: who knows nothing

using Losses = std::vector<double>;

// Where the rate is at a step: both views as the leader would publish them.
double rate_at(std::uint64_t step, bool ramps) {
  const double to = batch::rate_factor(model::RateRule::kLinear, kBatch, kBatch * kTimes);
  if (step <= kGrowsAfter) return kRate;
  const batch::Rate grown = batch::next_rate({}, to, model::Step(kGrowsAfter + 1));
  return kRate * (ramps ? grown.at(model::Step(step)) : to);
}

Losses train(std::uint64_t seed, bool ramps) {
  const std::vector<train::Digit> data = train::training_digits();
  std::vector<float> weights(train::Mlp::kParameters);
  std::vector<float> gradient(weights.size());
  std::vector<float> momentum(weights.size());
  train::Mlp::initialise(seed, std::span<float, train::Mlp::kParameters>(weights));
  Losses losses;
  model::Position here;
  while (losses.size() < kSteps) {
    const std::uint64_t number = losses.size() + 1;
    const std::uint64_t batch = number <= kGrowsAfter ? kBatch : kBatch * kTimes;
    const model::StepPlan plan = model::next_step(here, data.size(), batch);
    here = plan.after();
    const model::SampleOrder order(data.size(), seed, plan.epoch);
    std::vector<std::uint64_t> samples;
    for (std::uint64_t p = plan.positions.from; p < plan.positions.to; ++p) {
      samples.push_back(order.at(p));
    }
    losses.push_back(
        train::Mlp::mean_gradient(train::Mlp::Parameters(weights), data, samples,
                                  std::span<float, train::Mlp::kParameters>(gradient)));
    const auto rate = static_cast<float>(rate_at(number, ramps));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      momentum[i] = kMomentum * momentum[i] + gradient[i];
      weights[i] -= rate * momentum[i];
    }
  }
  return losses;
}

double mean_of_last(const Losses& losses, std::size_t count) {
  double sum = 0;
  for (std::size_t i = losses.size() - count; i < losses.size(); ++i) sum += losses[i];
  return sum / static_cast<double>(count);
}

// Worse than knowing nothing, or no number.
bool diverged(const Losses& losses) { return !(mean_of_last(losses, 10) < kChance); }

// Losses from 0.01 to 100 on a logarithmic scale; what is worse stays at the upper edge.
class Picture {
 public:
  static constexpr double kWidth = 640;
  static constexpr double kHeight = 300;

  void curve(const Losses& losses, std::string_view colour) {
    body_ += text("<polyline fill=\"none\" stroke=\"", colour, "\" stroke-width=\"1.4\" points=\"");
    for (std::size_t i = 0; i < losses.size(); ++i) {
      body_ += text(x(static_cast<double>(i + 1)), ",", y(losses[i]), " ");
    }
    body_ += "\"/>\n";
  }
  std::string svg() const {
    std::string out = text("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kWidth, " ",
                           kHeight, "\" font-family=\"sans-serif\" font-size=\"12\">\n",
                           "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    for (const double loss : {0.01, 0.1, 1.0, 10.0, 100.0}) {
      out += text("<line x1=\"", x(0), "\" x2=\"", x(kSteps), "\" y1=\"", y(loss), "\" y2=\"",
                  y(loss), "\" stroke=\"#ddd\"/><text x=\"", x(0) - 6, "\" y=\"", y(loss) + 4,
                  "\" text-anchor=\"end\">", loss, "</text>\n");
    }
    for (std::uint64_t step = 0; step <= kSteps; step += 20) {
      out += label(static_cast<double>(step), kHeight - 24, std::to_string(step));
    }
    out += text("<line x1=\"", x(kGrowsAfter), "\" x2=\"", x(kGrowsAfter), "\" y1=\"", y(100),
                "\" y2=\"", y(0.01), "\" stroke=\"#888\" stroke-dasharray=\"4 3\"/>\n", body_);
    out += label(kSteps / 2.0, kHeight - 6, "step");
    out += label(kGrowsAfter, 14, text("batch and rate x ", kTimes));
    out += "<text x=\"560\" y=\"40\" fill=\"#c0392b\">jump</text>\n";
    out += "<text x=\"560\" y=\"56\" fill=\"#1f6fb2\">ramp</text>\n";
    out += "<text x=\"8\" y=\"14\">loss</text>\n</svg>\n";
    return out;
  }

 private:
  static double x(double step) { return 50 + step / kSteps * (kWidth - 150); }
  static double y(double loss) {
    const double shown = std::isfinite(loss) ? std::clamp(loss, 0.01, 100.0) : 100.0;
    return kHeight - 40 - (std::log10(shown) + 2) / 4 * (kHeight - 64);
  }
  static std::string label(double step, double height, const std::string& words) {
    return text("<text x=\"", x(step), "\" y=\"", height, "\" text-anchor=\"middle\">", words,
                "</text>\n");
  }

  std::string body_;
};

Picture fill(bench::Table& table) {
  Picture picture;
  for (const bool ramps : {false, true}) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Losses losses = train(seed, ramps);
      picture.curve(losses, ramps ? "#1f6fb2" : "#c0392b");
      const double worst = *std::max_element(losses.begin() + kGrowsAfter, losses.end());
      table.row({{"change", ramps ? "ramp" : "jump"},
                 {"seed", seed},
                 {"loss_before", losses[kGrowsAfter - 1]},
                 {"loss_worst", worst},
                 {"loss_after", mean_of_last(losses, 10)},
                 {"diverged", diverged(losses)}});
    }
  }
  return picture;
}

}  // namespace
}  // namespace edl

int main(int argc, char** argv) {
  const std::optional<std::string> svg = edl::bench::take_svg(argc, argv);
  const auto fill = [&](edl::bench::Table& table) {
    const edl::Picture picture = edl::fill(table);
    if (svg) std::ofstream(*svg) << picture.svg();
  };
  return edl::bench::run(
      argc, argv, {"change", "seed", "loss_before", "loss_worst", "loss_after", "diverged"}, fill);
}
