#include "edl/torch/loader.h"

#include <gtest/gtest.h>

#include <map>

#include "edl/base/text.h"
#include "edl/torch/augment.h"
#include "edl/torch/trained_test.h"

namespace edl::torch {
namespace {

// Notes what it was asked for, when one thread asks it at a time.
class Noted final : public Dataset {
 public:
  using Asked = std::vector<std::vector<std::uint64_t>>;
  explicit Noted(Asked* asked = nullptr) : asked_(asked) {}

  std::uint64_t size() const override { return 1000; }
  Result<Batch> batch(std::span<const std::uint64_t> samples, const Draw& draw) const override {
    if (asked_ != nullptr) asked_->emplace_back(samples.begin(), samples.end());
    Tensor x = ::torch::empty({static_cast<std::int64_t>(samples.size()), 2});
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (samples[i] == 666) return Error{Code::kCorrupt, text("sample ", samples[i])};
      if (samples[i] == 667) TORCH_CHECK(false, "thrown");
      x[static_cast<std::int64_t>(i)][0] = static_cast<double>(samples[i]);
      x[static_cast<std::int64_t>(i)][1] = static_cast<double>(draw.epoch);
    }
    return Batch{x, x.select(1, 0).to(::torch::kInt64)};
  }

 private:
  Asked* const asked_;
};

Wish wish(std::uint64_t first, std::uint64_t count = 5, std::uint64_t epoch = 0) {
  Wish out{.draw = {.seed = 1, .epoch = epoch}};
  for (std::uint64_t i = 0; i < count; ++i) out.samples.push_back(first + i);
  return out;
}

bool is_same(const Batch& one, const Batch& other) {
  return one.x.equal(other.x) && one.y.equal(other.y);
}

TEST(Loader, any_number_of_threads_gives_the_same_bits) {
  const auto data = std::make_shared<const Noted>();
  for (const std::uint32_t threads : {0U, 1U, 4U}) {
    Loader loader(data, threads);
    for (std::uint64_t i = 0; i < 20; ++i) {
      // Right, wrong and missing guesses.
      if (i % 3 == 0) loader.expect({wish(i), wish(i + 1)});
      if (i % 3 == 1) loader.expect({wish(500), wish(600, 3)});
      const Batch got = loader.batch(wish(i, 1 + i % 7)).value();
      EXPECT_TRUE(is_same(got, data->batch(wish(i, 1 + i % 7).samples, wish(i).draw).value()));
    }
  }
}

TEST(Loader, what_was_expected_is_loaded_once) {
  Noted::Asked asked;
  {
    Loader loader(std::make_shared<const Noted>(&asked), 1);
    loader.expect({wish(0), wish(10)});
    EXPECT_TRUE(loader.batch(wish(0)).ok());
    loader.expect({wish(10), wish(20)});
    EXPECT_TRUE(loader.batch(wish(10)).ok());
    EXPECT_TRUE(loader.batch(wish(20)).ok());
    EXPECT_EQ(loader.expected(), 3U);
  }
  EXPECT_EQ(asked, (Noted::Asked{wish(0).samples, wish(10).samples, wish(20).samples}));
}

TEST(Loader, another_epoch_is_another_batch) {
  Loader loader(std::make_shared<const Noted>(), 1);
  loader.expect({wish(0, 5, 1)});
  EXPECT_EQ(loader.batch(wish(0, 5, 2)).value().x[0][1].item<double>(), 2);
  EXPECT_EQ(loader.expected(), 0U);
}

TEST(Loader, errors_and_what_torch_throws_come_as_sentences) {
  for (const std::uint32_t threads : {1U, 4U}) {
    Loader loader(std::make_shared<const Noted>(), threads);
    EXPECT_EQ(loader.batch(wish(664)).error().message, "sample 666");
    EXPECT_NE(loader.batch(wish(667)).error().message.find("thrown"), std::string::npos);
    EXPECT_TRUE(loader.batch(wish(0)).ok()) << "and it goes on";
  }
}

TEST(Loader, more_wishes_than_there_is_room_for_do_no_harm) {
  Loader loader(std::make_shared<const Noted>(), 2);
  std::vector<Wish> many;
  for (std::uint64_t i = 0; i < 500; ++i) many.push_back(wish(i));
  for (int i = 0; i < 10; ++i) loader.expect(many);
  for (std::uint64_t i = 0; i < 500; ++i) {
    EXPECT_EQ(loader.batch(many[i]).value().x[0][0].item<double>(), static_cast<double>(i));
  }
}

TEST(Loader, data_that_draw_from_the_numbers_of_torch_are_found) {
  const auto careless =
      augmented(std::shared_ptr<const Dataset>(std::make_shared<const Noted>()),
                [](const Tensor& x, const ::torch::Generator&) { return x + ::torch::rand({2}); })
          .value();
  Loader loader(careless, 1);
  EXPECT_NE(loader.batch(wish(0)).error().message.find("data_threads"), std::string::npos);
}

// A net whose data are augmented, trained with so many data threads.
std::map<std::string, Bytes> trained(std::optional<std::uint32_t> threads) {
  Program program = program_with(sgd());
  program.data = [] {
    const Batch all = samples(40);
    return augmented(tensors(all.x, all.y), [](const Tensor& x, const ::torch::Generator& random) {
      return x + ::torch::rand({6}, random);
    });
  };
  program.data_threads = threads;
  Trained out(program);
  out.initialise(1);
  out.micro = 2;
  for (std::uint64_t step = 1; step <= 5; ++step) out.step(step, 3);
  return out.state();
}

TEST(Prefetch, the_number_of_data_threads_changes_no_bit_of_the_model) {
  const auto plain = trained(0);
  EXPECT_EQ(trained(1), plain);
  EXPECT_EQ(trained(4), plain);
  EXPECT_EQ(trained(std::nullopt), plain);
}

TEST(Prefetch, what_comes_next_may_be_told_rightly_or_wrongly) {
  const auto run = [](bool is_right) {
    Program program = program_with(sgd());
    program.data_threads = 1;
    Trained one(program);
    one.initialise(1);
    for (std::uint64_t step = 1; step <= 4; ++step) {
      one.trainee().upcoming(one.part(is_right ? step : step + 7, 1, 2));
      one.step(step, 2);
    }
    return one.state();
  };
  EXPECT_EQ(run(true), run(false));
}

}  // namespace
}  // namespace edl::torch
