#include "edl/train/node_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "edl/base/random.h"

namespace edl::train {
namespace {

constexpr std::size_t kNumbers = 1003;  // not a whole number of vectors
using Numbers = std::vector<float>;

collective::Layout layout() {
  return collective::Layout(
      {{collective::Element::kI64, 3}, {collective::Element::kF32, kNumbers}});
}

// Sums of these show the order in which they were made.
std::vector<Numbers> parts_of(std::uint32_t count) {
  Random random(count);
  std::vector<Numbers> parts(count, Numbers(kNumbers));
  for (Numbers& part : parts) {
    for (float& one : part) one = 1.0F / static_cast<float>(random.between(1, 1000000));
  }
  return parts;
}

constexpr float kShare = 0.3F;

// As the design says it, one addition after the other.
Numbers naive_sum(const std::vector<Numbers>& parts, model::TreeNode node) {
  Numbers sum(kNumbers);
  if (node.hi - node.lo == 1) {
    for (std::size_t i = 0; i < kNumbers; ++i) sum[i] = parts[node.lo][i] * kShare;
    return sum;
  }
  const Numbers left = naive_sum(parts, node.left());
  const Numbers right = naive_sum(parts, node.right());
  for (std::size_t i = 0; i < kNumbers; ++i) sum[i] = left[i] + right[i];
  return sum;
}

enum class Way { kWhole, kStreamed };

void give(NodeSums& sums, std::uint32_t v, const Numbers& part, Way way) {
  const bool streams = way == Way::kStreamed;
  sums.open(model::LogicalWorker(v), 1, streams ? 1 : 0);
  const std::int64_t count = v + 1;
  std::memcpy(sums.room()[0].data(), &count, sizeof count);
  const ConstBytes all = std::as_bytes(std::span(part));
  if (streams) {
    const std::size_t cut = all.size() / 3 / sizeof(float) * sizeof(float);
    sums.fold(1, cut, all.subspan(cut), kShare);
    sums.fold(1, 0, all.first(cut), kShare);
  } else {
    collective::fold(collective::Element::kF32, all, kShare, {}, sums.room()[1]);
  }
  sums.close();
}

class NodeSumsOf : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(NodeSumsOf, parts_in_any_order_and_way_are_the_sums_of_the_tree) {
  const collective::Layout space = layout();
  const std::vector<Numbers> parts = parts_of(GetParam());
  const model::TreeNode root{0, GetParam()};
  const Numbers wanted = naive_sum(parts, root);
  NodeSums sums(space);  // its memory is used again
  Random random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::uint32_t> order(GetParam());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    sums.begin(GetParam());
    for (const std::uint32_t v : order) {
      give(sums, v, parts[v], random.once_in(2) ? Way::kWhole : Way::kStreamed);
    }
    ASSERT_TRUE(sums.has(root));
    const ConstBytes all = sums.sum(root);
    Numbers got(kNumbers);
    std::memcpy(got.data(), all.data() + space.sums(1).offset, kNumbers * sizeof(float));
    EXPECT_EQ(got, wanted);
    std::int64_t count = 0;
    std::memcpy(&count, all.data() + space.sums(0).offset, sizeof count);
    EXPECT_EQ(count, GetParam() * (GetParam() + 1) / 2);
  }
}

TEST(NodeSums, another_order_of_additions_gives_other_bits) {
  const std::vector<Numbers> parts = parts_of(8);
  Numbers in_a_row(kNumbers);
  for (std::size_t i = 0; i < kNumbers; ++i) {
    for (const Numbers& part : parts) in_a_row[i] += part[i] * kShare;
  }
  EXPECT_NE(in_a_row, naive_sum(parts, {0, 8}));
}

INSTANTIATE_TEST_SUITE_P(Trees, NodeSumsOf, ::testing::Values(1, 2, 3, 5, 6, 7, 8, 16));

}  // namespace
}  // namespace edl::train
