#include "edl/train/step_layout.h"

#include <algorithm>

namespace edl::train {
namespace {

std::vector<collective::Segment> all_segments(const Trainee& trainee,
                                              std::uint32_t logical_workers) {
  const std::uint64_t sums =
      1 + trainee.metric_names().size() + logical_workers + Evaluation(trainee).names().size();
  std::vector<collective::Segment> segments{{collective::Element::kF64, sums},
                                            {collective::Element::kI64, 1}};
  for (const collective::Segment& segment : trainee.segments()) segments.push_back(segment);
  return segments;
}

double number_at(ConstBytes reduced, std::size_t index) {
  return load_int<double>(reduced.data() + index * sizeof(double));
}

}  // namespace

StepLayout::StepLayout(const Trainee& trainee, std::uint32_t logical_workers)
    : metrics_(trainee.metric_names()),
      evaluation_(trainee),
      logical_workers_(logical_workers),
      gradients_(trainee.gradient_segments()),
      layout_(all_segments(trainee, logical_workers)) {}

std::vector<ConstBytes> StepLayout::cut(ConstBytes reduced) const {
  std::vector<ConstBytes> spans;
  for (std::size_t i = 0; i < layout_.segments().size(); ++i) {
    const collective::Range range = layout_.reduced(i);
    spans.push_back(reduced.subspan(range.offset, range.bytes));
  }
  return spans;
}

void StepLayout::write(const PartSums& sums, model::LogicalWorker v,
                       const std::vector<ByteSpan>& into) const {
  EDL_CHECK(sums.metrics.size() == metrics_.size() && v.value() < logical_workers_);
  std::fill(into[0].begin(), into[0].end(), std::byte{0});
  store_int(into[0].data(), sums.loss);
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    store_int(into[0].data() + (1 + i) * sizeof(double), sums.metrics[i]);
  }
  store_int(into[1].data(), std::int64_t{sums.found_inf ? 1 : 0});
}

void StepLayout::write_norm(model::LogicalWorker v, double times,
                            const std::vector<ByteSpan>& into) const {
  double norm = 0;
  for (std::size_t i = kOwnSegments; i < kOwnSegments + gradients_; ++i) {
    norm +=
        collective::squared_norm(collective::sum_element(layout_.segments()[i].element), into[i]);
  }
  store_int(into[0].data() + (first_norm() + v.value()) * sizeof(double), norm * times * times);
}

void StepLayout::write_evaluation(std::span<const double> sums,
                                  const std::vector<ByteSpan>& into) const {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    store_int(into[0].data() + (first_evaluated() + i) * sizeof(double), sums[i]);
  }
}

double StepLayout::squared_norm(ConstBytes reduced) const {
  const std::vector<ConstBytes> spans = cut(reduced);
  double norm = 0;
  for (std::size_t i = kOwnSegments; i < kOwnSegments + gradients_; ++i) {
    norm += collective::squared_norm(layout_.segments()[i].element, spans[i]);
  }
  return norm;
}

void StepLayout::read(ConstBytes reduced, model::StepRecordHeader& into) const {
  const std::vector<ConstBytes> spans = cut(reduced);
  into.loss_sum = number_at(spans[0], 0);
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    into.metric_sums[metrics_[i]] = number_at(spans[0], 1 + i);
  }
  into.squared_norms.clear();
  for (std::uint32_t v = 0; v < logical_workers_; ++v) {
    into.squared_norms.push_back(number_at(spans[0], first_norm() + v));
  }
  const bool measured = std::any_of(into.squared_norms.begin(), into.squared_norms.end(),
                                    [](double norm) { return norm != 0; });
  if (!measured) into.squared_norms.clear();
  into.found_inf = load_int<std::int64_t>(spans[1].data()) > 0;
  into.evaluation.clear();
  if (!evaluation_.is_due(into.epoch, into.position)) return;
  std::vector<double> sums;
  for (std::size_t i = 0; i < evaluation_.names().size(); ++i) {
    sums.push_back(number_at(spans[0], first_evaluated() + i));
  }
  into.evaluation = evaluation_.means(sums);
}

}  // namespace edl::train
