#include "edl/train/node_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "edl/base/random.h"

namespace edl::train {
namespace {

constexpr std::size_t kNumbers = 1003;  // not a whole number of vectors
using Floats = std::vector<float>;

collective::Layout layout() {
  return collective::Layout(
      {{collective::Element::kI64, 3}, {collective::Element::kF32, kNumbers}});
}

// Sums of these show the order in which they were made.
std::vector<Floats> parts_of(std::uint32_t count) {
  Random random(count);
  std::vector<Floats> parts(count, Floats(kNumbers));
  for (Floats& part : parts) {
    for (float& one : part) one = 1.0F / static_cast<float>(random.between(1, 1000000));
  }
  return parts;
}

constexpr float kShare = 0.3F;

// As the design says it, one addition after the other.
Floats naive_sum(const std::vector<Floats>& parts, model::TreeNode node) {
  Floats sum(kNumbers);
  if (node.hi - node.lo == 1) {
    for (std::size_t i = 0; i < kNumbers; ++i) sum[i] = parts[node.lo][i] * kShare;
    return sum;
  }
  const Floats left = naive_sum(parts, node.left());
  const Floats right = naive_sum(parts, node.right());
  for (std::size_t i = 0; i < kNumbers; ++i) sum[i] = left[i] + right[i];
  return sum;
}

// Kept: gradients stay where they are until another part comes, and sums may be made there; cut:
// likewise, in pieces that fit to no other part's.
enum class Way { kWhole, kStreamed, kKept, kKeptUnchanged, kKeptCut };
constexpr std::uint64_t kWays = 5;

class Holder final : public GradientHolder {
 public:
  Holder(std::shared_ptr<const Floats> held, Floats part, Way way)
      : held_(std::move(held)), part_(std::move(part)), way_(way) {}
  ~Holder() override { EXPECT_TRUE(is_alone() || *held_ == part_) << "who must not change it did"; }
  bool is_alone() const override { return way_ != Way::kKeptUnchanged; }

 private:
  const std::shared_ptr<const Floats> held_;
  const Floats part_;
  const Way way_;
};

// What becomes of the sums that a part is added to.
enum class Others { kUsed, kSpared, kStay };

void give(NodeSums& sums, std::uint32_t v, const Floats& part, Way way,
          Others others = Others::kUsed) {
  const bool streams = way != Way::kWhole;
  sums.open(model::LogicalWorker(v),
            {.first = 1, .count = streams ? 1U : 0U, .spares = others != Others::kUsed});
  const std::int64_t count = v + 1;
  std::memcpy(sums.room()[0].data(), &count, sizeof count);
  const auto held = std::make_shared<Floats>(part);
  const ConstBytes all = std::as_bytes(std::span(*held));
  if (streams) {
    const std::size_t third = kNumbers / 3 * sizeof(float);
    const std::size_t cut = way == Way::kKeptCut ? 2 * third : third;
    GradientPiece piece{.share = kShare};
    if (way != Way::kStreamed) piece.holder = std::make_shared<Holder>(held, part, way);
    for (const ConstBytes numbers : {all.subspan(cut), all.first(cut)}) {
      piece.numbers = numbers;
      sums.fold(1, static_cast<std::uint64_t>(numbers.data() - all.data()), piece);
    }
  } else {
    collective::fold(collective::Element::kF32, {.one = {all.data(), kShare}}, sums.room()[1]);
  }
  // Who reads them later, and may not, finds others.
  if (way == Way::kWhole || way == Way::kStreamed) std::ranges::fill(*held, -1.0F);
  sums.close(others == Others::kStay);
}

Floats numbers_of(NodeSums& sums, const collective::Layout& space, model::TreeNode node) {
  Floats got(kNumbers);
  std::memcpy(got.data(), sums.sum(node).data() + space.sums(1).offset, kNumbers * sizeof(float));
  return got;
}

class NodeSumsOf : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(NodeSumsOf, parts_in_any_order_and_way_are_the_sums_of_the_tree) {
  const collective::Layout space = layout();
  const std::vector<Floats> parts = parts_of(GetParam());
  const model::TreeNode root{0, GetParam()};
  const Floats wanted = naive_sum(parts, root);
  NodeSums sums(space);  // its memory is used again
  Random random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::uint32_t> order(GetParam());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    sums.begin(GetParam());
    for (const std::uint32_t v : order) {
      const Others others = random.once_in(3) ? Others::kSpared : Others::kUsed;
      give(sums, v, parts[v], static_cast<Way>(random.below(kWays)), others);
    }
    ASSERT_TRUE(sums.has(root));
    const ConstBytes all = sums.sum(root);
    EXPECT_EQ(numbers_of(sums, space, root), wanted);
    std::int64_t count = 0;
    std::memcpy(&count, all.data() + space.sums(0).offset, sizeof count);
    EXPECT_EQ(count, GetParam() * (GetParam() + 1) / 2);
  }
}

// A part that turns out to be another member's leaves what was computed before it.
TEST(NodeSums, sums_that_stay_are_there_beside_the_one_that_has_them) {
  const collective::Layout space = layout();
  const std::vector<Floats> parts = parts_of(4);
  for (std::uint64_t way = 0; way < kWays; ++way) {
    NodeSums sums(space);
    sums.begin(4);
    for (const std::uint32_t v : {0, 1, 2}) give(sums, v, parts[v], static_cast<Way>(way));
    give(sums, 3, parts[3], static_cast<Way>(way), Others::kStay);
    for (const model::TreeNode node : {model::TreeNode{0, 2}, {2, 3}, {0, 4}}) {
      ASSERT_TRUE(sums.has(node)) << way;
      EXPECT_EQ(numbers_of(sums, space, node), naive_sum(parts, node)) << way;
    }
    const std::vector<model::LogicalWorker> half{model::LogicalWorker(0), model::LogicalWorker(1)};
    EXPECT_TRUE(sums.missing(half).empty());
    EXPECT_FALSE(sums.has({0, 4})) << "of no use any more";
  }
}

TEST(NodeSums, another_order_of_additions_gives_other_bits) {
  const std::vector<Floats> parts = parts_of(8);
  Floats in_a_row(kNumbers);
  for (std::size_t i = 0; i < kNumbers; ++i) {
    for (const Floats& part : parts) in_a_row[i] += part[i] * kShare;
  }
  EXPECT_NE(in_a_row, naive_sum(parts, {0, 8}));
}

INSTANTIATE_TEST_SUITE_P(Trees, NodeSumsOf, ::testing::Values(1, 2, 3, 5, 6, 7, 8, 16));

}  // namespace
}  // namespace edl::train
