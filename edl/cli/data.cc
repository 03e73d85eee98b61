// `edl data`: which samples are trained when.
#include "edl/base/text.h"
#include "edl/cli/commands.h"
#include "edl/model/order.h"

namespace edl::cli {
namespace {

class DataOrder final : public Command {
 public:
  explicit DataOrder(CLI::App& app) {
    add_number(app, "--samples", samples_, "samples of the data set")->required();
    add_number(app, "--seed", seed_, "seed of the job; 0 when not given");
    add_number(app, "--epoch", epoch_, "epoch, from 0; 0 when not given");
    add_number(app, "--from", from_, "first position, from 0; 0 when not given");
    add_number(app, "--to", to_, "position to end before; all samples when not given");
    app.add_flag("--json", json_, "answer with one JSON object: {\"indices\":[...]}");
  }

  Result<void> run(Output& out) override {
    EDL_TRY(model::validate_samples(samples_));
    const std::uint64_t to = to_.value_or(samples_);
    if (from_ > to || to > samples_) {
      return Error{Code::kInvalid,
                   text("cannot list positions from ", from_, " to ", to, " of ", samples_,
                        " samples: --from must not be above --to, nor ", "--to above --samples")};
    }
    const model::SampleOrder order(samples_, seed_, model::Epoch(epoch_));
    write(order, to, out);
    return {};
  }

 private:
  // Written as it is computed: there may be more indices than memory.
  void write(const model::SampleOrder& order, std::uint64_t to, Output& out) const {
    if (json_) out.add("{\"indices\":[");
    for (std::uint64_t position = from_; position < to && out.open(); ++position) {
      if (json_ && position > from_) out.add(",");
      out.add(std::to_string(order.at(position)));
      if (!json_) out.add("\n");
    }
    if (json_) out.add("]}\n");
  }

  std::uint64_t samples_ = 0;
  std::uint64_t seed_ = 0;
  std::uint64_t epoch_ = 0;
  std::uint64_t from_ = 0;
  std::optional<std::uint64_t> to_;
  bool json_ = false;
};

}  // namespace

void add_data(CommandLine& line, Console& console) {
  CLI::App& data =
      line.add_group(line.root(), {"data", "Look at the data that jobs train on.",
                                   "edl data order --samples=1000 --seed=7 --epoch=0 --to=8"});
  line.add<DataOrder>(data,
                      {"order", "List the samples that the positions of an epoch train.",
                       "edl data order --samples=1000 --seed=7 --epoch=0 --from=0 --to=8 --json"});
  add_data_step(line, data);
  add_data_fetch(line, data, console);
}

}  // namespace edl::cli
