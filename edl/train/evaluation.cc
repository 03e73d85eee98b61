#include "edl/train/evaluation.h"

#include "edl/base/text.h"
#include "edl/model/batch.h"
#include "edl/model/tree.h"

namespace edl::train {

Evaluation::Evaluation(const Trainee& trainee)
    : names_(trainee.held_out() > 0 ? trainee.evaluation_names() : std::vector<std::string>()),
      samples_(trainee.held_out()) {}

bool Evaluation::is_due(model::Epoch epoch, std::uint64_t position) const {
  return !names_.empty() && position == 0 && epoch > model::Epoch(0);
}

Result<std::vector<double>> Evaluation::share(Trainee& trainee, model::LogicalWorker v,
                                              std::uint32_t parts) const {
  const std::uint64_t from = model::part_begin(samples_, parts, v);
  EDL_TRY(std::vector<double> sums,
          trainee.evaluate(from, from + model::part_size(samples_, parts, v)));
  if (sums.size() != names_.size()) {
    return Error{Code::kInvalid,
                 text("an evaluation gave ", sums.size(), " numbers instead of ", names_.size())};
  }
  return sums;
}

model::NamedNumbers Evaluation::means(std::span<const double> sums) const {
  model::NamedNumbers means;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    means[names_[i]] = sums[i] / static_cast<double>(samples_);
  }
  return means;
}

Result<model::NamedNumbers> Evaluation::whole(Trainee& trainee, std::uint32_t parts) const {
  if (names_.empty()) return model::NamedNumbers();
  std::vector<std::vector<std::optional<double>>> columns(names_.size());
  for (std::uint32_t v = 0; v < parts; ++v) {
    EDL_TRY(const std::vector<double> sums, share(trainee, model::LogicalWorker(v), parts));
    for (std::size_t i = 0; i < sums.size(); ++i) columns[i].emplace_back(sums[i]);
  }
  std::vector<double> sums;
  for (const auto& column : columns) {
    sums.push_back(
        *model::tree_sum<double>(std::span<const std::optional<double>>(column), {0, parts}));
  }
  return means(sums);
}

}  // namespace edl::train
