// How the numbers of a step lie in the collective's buffers: first EDL's own sums (loss, metrics,
// squared norms of parts, what was evaluated; parts that found an infinity), then the trainee's
// segments.
#pragma once

#include "edl/collective/layout.h"
#include "edl/model/record.h"
#include "edl/train/evaluation.h"
#include "edl/train/trainee.h"

namespace edl::train {

class StepLayout {
 public:
  StepLayout(const Trainee& trainee, std::uint32_t logical_workers);

  const collective::Layout& layout() const { return layout_; }
  // The trainee's segments among `spans`, which has one for each of the layout.
  template <class Span>
  std::span<const Span> of_trainee(const std::vector<Span>& spans) const {
    return std::span(spans).subspan(kOwnSegments);
  }
  // Which segments are the trainee's gradients.
  struct Segments {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  Segments gradients() const { return {kOwnSegments, gradients_}; }
  // One span for each segment of `reduced`, which has the layout's reduced bytes.
  std::vector<ConstBytes> cut(ConstBytes reduced) const;

  // Writes what one part adds beside its gradients, which are there already.
  void write(const PartSums& sums, model::LogicalWorker v, const std::vector<ByteSpan>& into) const;
  // Adds the squared norm of the part's gradient to that. A part weighs its share of the step;
  // `times` undoes this.
  void write_norm(model::LogicalWorker v, double times, const std::vector<ByteSpan>& into) const;
  // Adds the part's share of an evaluation to that.
  void write_evaluation(std::span<const double> sums, const std::vector<ByteSpan>& into) const;
  const Evaluation& evaluation() const { return evaluation_; }
  // Of the gradient of a whole step.
  double squared_norm(ConstBytes reduced) const;
  // Reads these sums of a whole step into the header's fields; its place must be there already.
  void read(ConstBytes reduced, model::StepRecordHeader& into) const;

 private:
  static constexpr std::size_t kOwnSegments = 2;

  std::size_t first_norm() const { return 1 + metrics_.size(); }
  std::size_t first_evaluated() const { return first_norm() + logical_workers_; }

  const std::vector<std::string> metrics_;
  const Evaluation evaluation_;
  const std::uint32_t logical_workers_;
  const std::size_t gradients_;
  const collective::Layout layout_;
};

}  // namespace edl::train
