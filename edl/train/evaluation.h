// What is measured on held-out samples between two steps. The first step of each epoch but the
// first carries it: every part measures its share of the held-out samples in the state before the
// step, and the sums are reduced with the gradients. So an evaluation is completed, handed over and
// stable together with that step, and costs no agreement of its own.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "edl/model/fields.h"
#include "edl/model/ids.h"
#include "edl/train/trainee.h"

namespace edl::train {

class Evaluation {
 public:
  explicit Evaluation(const Trainee& trainee);

  const std::vector<std::string>& names() const { return names_; }
  // Whether the step that begins here carries one.
  bool is_due(model::Epoch epoch, std::uint64_t position) const;
  // The sums of the share that goes with part v of `parts`.
  Result<std::vector<double>> share(Trainee& trainee, model::LogicalWorker v,
                                    std::uint32_t parts) const;
  model::NamedNumbers means(std::span<const double> sums) const;
  // All shares by one process, with the same result: for the state that no step follows.
  Result<model::NamedNumbers> whole(Trainee& trainee, std::uint32_t parts) const;

 private:
  const std::vector<std::string> names_;
  const std::uint64_t samples_;
};

}  // namespace edl::train
