// What is trained when the program is written in another language: tensors in its memory, and
// functions of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edl/capi/edl.h"
#include "edl/capi/facts.h"
#include "edl/train/part_gradients.h"
#include "edl/train/trainee.h"

namespace edl::capi {

// What a program says of itself beside what an agent wants to know.
struct Description {
  Json facts{};  // for the agent
  model::SampleCount samples = 0;
  std::vector<std::string> metrics{};
  std::vector<std::string> evaluation{};
  std::uint64_t held_out = 0;
  bool takes_one_sample = true;
  bool rehearses = true;
};
Result<Description> parse_description(std::string_view text);

// What a function of the program said before it failed, once; on this thread.
void set_failure(const char* sentence);
std::string take_failure();

// The mean over so many samples of the part. Without a holder it is read at once.
struct ForeignGradient {
  std::uint32_t parameter = 0;
  const void* numbers = nullptr;
  std::uint64_t samples = 0;
  std::shared_ptr<const train::GradientHolder> holder{};
};

// By parameter: numbers, or a tensor that is ours from now on, or neither; and whether nobody else
// sees what is in the tensor.
struct ForeignGradients {
  const void* const* numbers = nullptr;
  DLManagedTensor* const* given = nullptr;
  const std::uint8_t* is_own = nullptr;
};

class ForeignTrainee final : public train::Trainee {
 public:
  ForeignTrainee(const edl_calls& calls, void* context, Description description);
  Result<void> add(edl_kind kind, const std::string& name, const DLTensor& tensor);
  // After all were added.
  Result<void> lay_out();
  // A gradient of the part that is being computed.
  Result<void> take(train::PartGradients& gradients, ForeignGradient gradient) const;
  // One that is ours from now on, whatever this answers.
  Result<void> take_given(train::PartGradients& gradients, std::uint32_t parameter,
                          DLManagedTensor* tensor, bool is_own, std::uint64_t samples) const;
  Result<void> take_all(train::PartGradients& gradients, const ForeignGradients& all,
                        std::uint64_t samples) const;
  const Description& description() const { return description_; }
  const Facts& facts() const { return facts_; }
  const edl_calls& calls() const { return calls_; }
  void* context() const { return context_; }

  model::SampleCount samples() const override { return description_.samples; }
  std::vector<collective::Segment> segments() const override;
  std::size_t gradient_segments() const override { return parameters_.size(); }
  bool takes_one_sample() const override { return description_.takes_one_sample; }
  bool rehearses() const override { return description_.rehearses; }
  std::vector<std::string> metric_names() const override { return description_.metrics; }
  Result<void> initialise(std::uint64_t seed) override;
  std::vector<train::StateTensor> state() override;
  void loaded() override;
  bool loads_ahead() const override { return calls_.upcoming != nullptr; }
  void upcoming(const train::Part& part) override;
  bool streams_gradients() const override { return true; }
  Result<train::PartSums> compute(const train::Part& part, const train::PartRoom& room) override;
  Result<train::Applied> apply(const train::ReducedStep& step) override;
  bool follows_views() const override { return true; }
  void entered(const train::EnteredView& entered) override { facts_.entered(entered); }
  void ended(bool is_finished) override { facts_.ended(is_finished); }
  std::vector<std::string> evaluation_names() const override { return description_.evaluation; }
  std::uint64_t held_out() const override { return description_.held_out; }
  Result<std::vector<double>> evaluate(std::uint64_t from, std::uint64_t to) override;

 private:
  // Tensors of one type that are summed: a segment of the step.
  struct Summed {
    train::GradientSegment gradients{};  // or buffers, laid out in the same way
    std::vector<train::StateTensor> tensors{};
    std::vector<std::vector<std::byte>> shared{};  // of buffers: what the state holds
    std::vector<std::vector<std::byte>> before{};  // and held before the step that is applied
  };

  static Result<void> called(int code, std::string_view what);
  static Summed& summed_of(std::vector<Summed>& all, collective::Element element);
  void begin_buffers();
  void end_buffers(const train::Part& part, std::span<const ByteSpan> sums);
  void take_buffers(std::span<const ConstBytes> sums, const std::int64_t* flags);
  void put_buffers_back();
  std::size_t flags_segment() const { return parameters_.size() + buffers_.size(); }

  const edl_calls calls_;
  void* const context_;
  const Description description_;
  std::vector<Summed> parameters_;
  std::vector<Summed> buffers_;
  std::vector<train::GradientSegment> gradients_;  // of `parameters_`
  std::vector<train::StateTensor> others_;
  // Parameters in the order in which they were added: segment, and place there.
  std::vector<std::pair<std::size_t, std::size_t>> order_;
  std::size_t flag_count_ = 0;
  Facts facts_;
  std::optional<Error> load_failure_;  // of the state that it has
  std::vector<std::int64_t> touched_;  // by this part: gradients that came, buffers that changed
};

}  // namespace edl::capi
