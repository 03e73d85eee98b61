#include "edl/agent/launch.h"

#include <gtest/gtest.h>

namespace edl::agent {
namespace {

constexpr std::uint32_t kCores = 2;

LaunchRequest request() {
  LaunchRequest typed;
  typed.name = "a-1";
  typed.program = "builtin:mlp";
  return typed;
}

ProgramFacts program() {
  ProgramFacts facts;
  facts.samples = 1437;
  facts.batch = 64;
  facts.epochs = 3;
  facts.logical_workers = 8;
  facts.seed = 5;
  return facts;
}

Launch planned(const LaunchRequest& typed) { return plan_launch(typed, program(), kCores).value(); }

std::string refusal(const LaunchRequest& typed) {
  const auto launch = plan_launch(typed, program(), kCores);
  return launch.ok() ? "" : launch.error().message;
}

TEST(Launch, without_options_is_what_the_program_says) {
  const Launch launch = planned(request());
  EXPECT_EQ(launch.logical_workers, 8u);
  EXPECT_EQ(launch.spec.seed, 5u);
  EXPECT_EQ(launch.steps, 3 * 23u);
  EXPECT_EQ(launch.range.min, 1u);
  EXPECT_EQ(launch.range.max, 8u);
  EXPECT_EQ(launch.wanted, kCores);
  EXPECT_EQ(launch.batch, model::undivided_batch(64, 8));
  EXPECT_EQ(launch.note, "");
}

TEST(Launch, what_is_typed_overrides_the_program) {
  LaunchRequest typed = request();
  typed.logical_workers = 4;
  typed.seed = 9;
  typed.batch = 100;
  typed.steps = 7;
  const Launch launch = planned(typed);
  EXPECT_EQ(launch.logical_workers, 4u);
  EXPECT_EQ(launch.spec.seed, 9u);
  EXPECT_EQ(launch.batch.global, 100u);
  EXPECT_EQ(launch.steps, 7u);
  EXPECT_FALSE(launch.spec.epochs.has_value()) << "steps alone means no end by epochs";
}

TEST(Launch, workers_and_checkpoints_are_the_programs_when_nothing_is_typed) {
  const Json said{
      {"samples", 1437}, {"logical_workers", 8}, {"workers", "2:4"}, {"checkpoint", "off"}};
  const ProgramFacts facts = program_facts_from(said).value();
  const Launch launch = plan_launch(request(), facts, kCores).value();
  EXPECT_EQ(launch.range.min, 2u);
  EXPECT_EQ(launch.range.max, 4u);
  EXPECT_EQ(launch.spec.checkpoint, "off");
  LaunchRequest typed = request();
  typed.workers = model::parse_workers("3").value();
  typed.checkpoint = "auto";
  const Launch other = plan_launch(typed, facts, kCores).value();
  EXPECT_EQ(other.range.max, 3u);
  EXPECT_EQ(other.spec.checkpoint, "auto");
  EXPECT_FALSE(program_facts_from({{"samples", 1437}, {"workers", "none"}}).ok());
}

TEST(Launch, epochs_and_steps_together_end_at_the_first_of_them) {
  LaunchRequest typed = request();
  typed.epochs = 2;
  typed.steps = 100;
  EXPECT_EQ(planned(typed).steps, 46u);
  typed.steps = 10;
  EXPECT_EQ(planned(typed).steps, 10u);
}

TEST(Launch, workers_never_change_the_logical_workers) {
  LaunchRequest typed = request();
  for (const char* workers : {"1", "4", "1:8", "2:64", "3:3"}) {
    typed.workers = model::parse_workers(workers).value();
    EXPECT_EQ(planned(typed).logical_workers, 8u);
  }
}

TEST(Launch, starts_with_what_was_said_else_with_the_cores) {
  LaunchRequest typed = request();
  typed.workers = model::parse_workers("4").value();
  EXPECT_EQ(planned(typed).wanted, 4u);
  typed.workers = model::parse_workers("1:6").value();
  EXPECT_EQ(planned(typed).wanted, kCores);
  typed.workers = model::parse_workers("3:6").value();
  EXPECT_EQ(planned(typed).wanted, 3u);
  typed.start = 5;
  EXPECT_EQ(planned(typed).wanted, 5u);
}

TEST(Launch, a_minimum_or_start_above_v_is_refused_and_a_maximum_is_cut_with_a_sentence) {
  LaunchRequest typed = request();
  typed.workers = model::parse_workers("9:12").value();
  EXPECT_NE(refusal(typed).find("8 logical workers"), std::string::npos);
  typed.workers = model::parse_workers("9").value();
  EXPECT_NE(refusal(typed), "");
  typed.workers = model::parse_workers("2:12").value();
  EXPECT_EQ(planned(typed).note,
            "The maximum of 12 workers is cut to 8: the job has 8 logical workers.");
  typed.start = 1;
  EXPECT_NE(refusal(typed).find("Start within it"), std::string::npos);
}

TEST(Launch, what_cannot_be_is_refused_with_a_sentence) {
  const auto refused = [](auto change) {
    LaunchRequest typed = request();
    change(typed);
    return refusal(typed);
  };
  EXPECT_NE(refused([](auto& r) { r.epochs = 0; }), "");
  EXPECT_NE(refused([](auto& r) { r.steps = 0; }), "");
  EXPECT_NE(refused([](auto& r) { r.batch = 0; }), "");
  EXPECT_NE(refused([](auto& r) { r.start = 0; }), "");
  EXPECT_NE(refused([](auto& r) { r.logical_workers = 0; }), "");
  EXPECT_NE(refused([](auto& r) { r.logical_workers = 65; }), "") << "V above the batch";
  EXPECT_NE(refused([](auto& r) { r.batch_max = 100; }), "") << "without a policy that uses it";
  EXPECT_NE(refused([](auto& r) { r.batch_policy = model::BatchPolicy::kCapped; }), "");
  EXPECT_NE(refused([](auto& r) { r.lr_rule = model::RateRule::kLars; }), "");
  EXPECT_NE(refused([](auto& r) { r.checkpoint = "sometimes"; }), "");
  EXPECT_NE(refused([](auto& r) { r.name = "Not a name"; }), "");
  EXPECT_NE(refused([](auto& r) { r.batch = ~std::uint64_t{0}; }), "");
}

TEST(Launch, growing_batches_begin_with_the_members_wanted) {
  LaunchRequest typed = request();
  typed.batch_policy = model::BatchPolicy::kCapped;
  typed.batch = 32;
  typed.batch_max = 100;
  typed.workers = model::parse_workers("1:8").value();
  const Launch launch = planned(typed);
  EXPECT_EQ(launch.batch.global, 64u);
  EXPECT_EQ(launch.batch.micro * launch.logical_workers, 64u);
  EXPECT_FALSE(launch.steps.has_value());
}

TEST(Launch, what_is_typed_of_the_batch_goes_before_what_the_program_says) {
  ProgramFacts facts = program();
  facts.batch_policy = model::BatchPolicy::kCapped;
  facts.batch_max = 256;
  facts.lr_rule = model::RateRule::kLinear;
  facts.warmup_samples = 1000;
  const model::JobSpec said = plan_launch(request(), facts, kCores)->spec;
  EXPECT_EQ(said.batch_policy, model::BatchPolicy::kCapped);
  EXPECT_EQ(said.batch_max, 256u);
  EXPECT_EQ(said.lr_rule, model::RateRule::kLinear);
  EXPECT_EQ(said.warmup_samples, 1000u);

  LaunchRequest typed = request();
  typed.batch_policy = model::BatchPolicy::kFixed;
  typed.lr_rule = model::RateRule::kNone;
  typed.warmup_samples = 0;
  const model::JobSpec other = plan_launch(typed, facts, kCores)->spec;
  EXPECT_EQ(other.batch_policy, model::BatchPolicy::kFixed);
  EXPECT_FALSE(other.batch_max) << "of another policy";
  EXPECT_EQ(other.lr_rule, model::RateRule::kNone);
  EXPECT_EQ(other.warmup_samples, 0u);
}

TEST(Launch, can_be_resumed_with_other_workers) {
  const Launch before = planned(request());
  const auto four = with_workers(before, model::parse_workers("4").value(), std::nullopt, kCores);
  EXPECT_EQ(four->wanted, 4u);
  EXPECT_EQ(four->spec.seed, before.spec.seed);
  EXPECT_FALSE(with_workers(before, model::parse_workers("9").value(), std::nullopt, 2).ok());
  EXPECT_EQ(with_workers(before, std::nullopt, std::nullopt, kCores)->wanted, before.wanted);
}

TEST(Launch, names_come_from_programs) {
  EXPECT_EQ(program_name("builtin:mlp"), "mlp");
  EXPECT_EQ(program_name("./examples/My_Digits.v2.py"), "my-digits-v2");
  EXPECT_EQ(program_name("___"), "job");
  EXPECT_LE(program_name(std::string(300, 'x')).size(), 55u);
  const auto taken = [](const std::string& name) { return name == "mlp-1" || name == "mlp-2"; };
  EXPECT_EQ(free_name("builtin:mlp", taken), "mlp-3");
}

TEST(Launch, facts_of_a_program_are_read_from_its_words) {
  const auto facts = program_facts_from({{"samples", 10u},
                                         {"epochs", 2u},
                                         {"fingerprint", {{"isa", "AVX2"}}},
                                         {"warnings", {"It is slow."}}});
  EXPECT_EQ(facts->fingerprint, (model::Fingerprint{{"isa", "AVX2"}}));
  EXPECT_EQ(facts->warnings, std::vector<std::string>{"It is slow."});
  EXPECT_EQ(facts->samples, 10u);
  EXPECT_EQ(facts->epochs, 2u);
  EXPECT_FALSE(facts->batch.has_value());
  EXPECT_FALSE(program_facts_from({{"samples", 0u}}).ok());
  EXPECT_FALSE(program_facts_from({{"epochs", 1u}}).ok());
  const std::vector<std::string> many(17, "It is slow.");
  EXPECT_FALSE(program_facts_from({{"samples", 10u}, {"warnings", many}}).ok());
}

TEST(Launch, takes_the_memory_of_its_workers_or_refuses) {
  ProgramFacts facts;
  facts.memory = train::MemoryFacts{.model_bytes = 100,
                                    .optimizer_bytes = 100,
                                    .gradient_bytes = 100,
                                    .sum_bytes = 100,
                                    .reduced_bytes = 100};
  Launch launch = planned(request());
  EXPECT_FALSE(take_memory(facts, 2, 1000, launch).ok());
  ASSERT_TRUE(take_memory(facts, 2, 1 << 20, launch).ok());
  EXPECT_EQ(launch.memory->parameters, 100u);
  EXPECT_TRUE(launch.warnings.empty());
  ASSERT_TRUE(take_memory(facts, 2, 2 * launch.memory->total() - 1, launch).ok());
  EXPECT_EQ(launch.warnings.size(), 1u);
}

TEST(Launch, a_stream_is_trained_once) {
  const auto facts = program_facts_from({{"stream", true}, {"batch", 64u}});
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_FALSE(facts->samples.is_known());
  const auto launch = plan_launch(request(), *facts, kCores);
  EXPECT_EQ(launch->spec.epochs, 1u);
  EXPECT_FALSE(launch->steps.has_value());
  LaunchRequest typed = request();
  typed.epochs = 2;
  EXPECT_EQ(plan_launch(typed, *facts, kCores).error().message,
            "cannot train 2 epochs of a stream: its records come once. Leave --epochs away, or "
            "train on known files");
  typed = request();
  typed.steps = 10;  // or less, when the stream ends before
  EXPECT_EQ(plan_launch(typed, *facts, kCores)->steps, 10u);
  EXPECT_EQ(plan_launch(typed, *facts, kCores)->spec.epochs, 1u);
}

// The number behind the first `word` of the sentence.
std::uint64_t number_behind(const std::string& sentence, const std::string& word) {
  const std::size_t at = sentence.find(word);
  return at == std::string::npos ? 0 : std::stoull(sentence.substr(at + word.size()));
}

TEST(Launch, that_gives_a_lone_sample_is_told_a_batch_and_logical_workers_that_work) {
  ProgramFacts facts = program();
  facts.takes_one_sample = false;
  facts.logical_workers.reset();  // then they follow the batch
  for (const std::uint64_t batch : {359u, 718u, 1436u}) {
    LaunchRequest typed = request();
    typed.batch = batch;
    const auto refused = plan_launch(typed, facts, kCores);
    ASSERT_FALSE(refused.ok()) << batch;
    const std::string& said = refused.error().message;
    typed.batch = number_behind(said, ": use --batch=");
    typed.logical_workers = number_behind(said, " --logical-workers=");
    EXPECT_TRUE(plan_launch(typed, facts, kCores).ok()) << said;
  }
}

TEST(Launch, of_a_plain_command_plans_its_workers_only) {
  LaunchRequest typed = request();
  typed.program = "python3";
  typed.args = {"train.py"};
  const Launch launch = plan_stop_resume(typed, kCores).value();
  EXPECT_EQ(launch.spec.mode, model::JobMode::kStopResume);
  EXPECT_EQ(launch.range.max, kCores);
  EXPECT_EQ(launch.wanted, kCores);
  EXPECT_FALSE(launch.steps.has_value());
  typed.workers = model::parse_workers("1:4").value();
  typed.start = 9;
  const auto refused = plan_stop_resume(typed, kCores);
  EXPECT_NE(refused.error().message.find("the range is 1:4"), std::string::npos);
  const auto more = with_workers(launch, model::parse_workers("9").value(), std::nullopt, kCores);
  EXPECT_EQ(more->wanted, 9u) << "nothing but the user limits them";
}

}  // namespace
}  // namespace edl::agent
