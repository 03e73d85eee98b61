#include "edl/torch/records.h"

#include "edl/base/text.h"
#include "edl/torch/guarded.h"

namespace edl::torch {
namespace {

class Records final : public Dataset {
 public:
  Records(data::RecordFiles files, ParseRecord parse)
      : files_(std::move(files)), parse_(std::move(parse)) {}

  std::uint64_t size() const override { return files_.records(); }

  Result<Batch> batch(std::span<const std::uint64_t> samples, const Draw&) const override {
    std::vector<Batch> examples;
    for (const std::uint64_t sample : samples) {
      EDL_TRY(const data::Record record, files_.read(sample));
      EDL_TRY(Batch example, parsed(parse_, record));
      examples.push_back(std::move(example));
    }
    return stacked(examples);
  }

  Result<std::vector<data::Place>> where(std::span<const std::uint64_t> samples) const override {
    std::vector<data::Place> places;
    for (const std::uint64_t sample : samples) {
      EDL_TRY(data::Place place, files_.place(sample));
      data::add_place(places, std::move(place));
    }
    return places;
  }

 private:
  const data::RecordFiles files_;
  const ParseRecord parse_;
};

}  // namespace

Result<Batch> parsed(const ParseRecord& parse, const data::Record& record) {
  auto example = guarded([&] { return parse(record.bytes); });
  if (example.ok() && example->x.defined()) return example;
  const std::string why = example.ok() ? "the parser gave no x" : example.error().message;
  return Error{Code::kInvalid, text(record.place.file, ": the record at byte ", record.place.from,
                                    " is no example: ", why)};
}

Result<Batch> stacked(const std::vector<Batch>& examples) {
  return guarded([&]() -> Result<Batch> {
    std::vector<::torch::Tensor> xs;
    std::vector<::torch::Tensor> ys;
    for (const Batch& example : examples) {
      xs.push_back(example.x);
      if (example.y.defined()) ys.push_back(example.y);
    }
    if (!ys.empty() && ys.size() != xs.size()) {
      return Error{Code::kInvalid, text("the parser gave a y for ", ys.size(), " of ", xs.size(),
                                        " records: give one for each, or for none")};
    }
    return Batch{::torch::stack(xs), ys.empty() ? ::torch::Tensor() : ::torch::stack(ys)};
  });
}

Result<std::shared_ptr<const Dataset>> records(const Result<data::RecordFiles>& files,
                                               ParseRecord parse) {
  if (!files.ok()) return files.error();
  return std::make_shared<const Records>(*files, std::move(parse));
}

}  // namespace edl::torch
