#include "edl/train/memory_bill.h"

#include <gtest/gtest.h>

#include <set>

#include "edl/model/tree.h"
#include "edl/train/builtin/programs.h"

namespace edl::train {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
// 10 MiB of parameters, under Adam.
const MemoryFacts kFacts{.model_bytes = 10 * kMiB,
                         .optimizer_bytes = 20 * kMiB,
                         .gradient_bytes = 10 * kMiB,
                         .sum_bytes = 10 * kMiB,
                         .reduced_bytes = 10 * kMiB};

// What NodeSums does, on nothing but numbers: the most nodes that there are at a time when the
// leaves [lo, hi) of a tree over `parts` come one after the other.
std::uint32_t naive_sums(std::uint32_t parts, std::uint32_t lo, std::uint32_t hi) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> held;
  std::size_t most = 0;
  const auto merge = [&](const auto& self, model::TreeNode node) -> void {
    if (node.hi - node.lo < 2) return;
    self(self, node.left());
    self(self, node.right());
    const std::pair left(node.left().lo, node.left().hi);
    const std::pair right(node.right().lo, node.right().hi);
    if (!held.contains(left) || !held.contains(right)) return;
    held.erase(left);
    held.erase(right);
    held.insert({node.lo, node.hi});
  };
  for (std::uint32_t v = lo; v < hi; ++v) {
    held.insert({v, v + 1});
    most = std::max(most, held.size());
    merge(merge, {0, parts});
  }
  return static_cast<std::uint32_t>(most);
}

TEST(MemoryBill, counts_as_many_sums_as_there_are_at_a_time) {
  for (std::uint32_t parts = 1; parts <= 33; ++parts) {
    EXPECT_EQ(sums_of_subtree(parts), naive_sums(parts, 0, parts)) << parts;
    std::uint32_t worst = 0;
    for (std::uint32_t lo = 0; lo < parts; ++lo) {
      for (std::uint32_t hi = lo + 1; hi <= parts; ++hi) {
        worst = std::max(worst, naive_sums(parts, lo, hi));
      }
    }
    EXPECT_GE(sums_at_worst(parts), worst) << parts;
    if ((parts & (parts - 1)) == 0) {
      EXPECT_EQ(sums_at_worst(parts), worst) << parts;
    }
  }
}

TEST(MemoryBill, is_a_table_of_the_job) {
  struct Row {
    MemoryTerms terms;
    std::uint64_t sums, copies, receiving, least;  // MiB
  };
  const MemoryTerms alone{.logical_workers = 1, .members = 1, .members_max = 1};
  MemoryTerms unkept = alone;
  unkept.checkpoints = false;
  for (const Row& row :
       {Row{alone, 10, 30, 0, 50}, Row{unkept, 10, 0, 0, 50},
        Row{{.logical_workers = 8, .members = 1, .members_max = 8}, 50, 80, 53, 80},
        Row{{.logical_workers = 8, .members = 4, .members_max = 8}, 50, 80, 53, 60},
        Row{{.logical_workers = 16, .members = 16, .members_max = 16}, 70, 80, 95, 50}}) {
    const MemoryBill bill = memory_bill(kFacts, row.terms);
    const std::uint64_t v = row.terms.logical_workers;
    EXPECT_EQ(bill.partial_sums, row.sums * kMiB) << v;
    EXPECT_EQ(bill.copies, row.copies * kMiB) << v;
    EXPECT_EQ(bill.receiving, row.receiving * kMiB) << v;
    EXPECT_EQ(bill.least, row.least * kMiB) << v;
    EXPECT_EQ(bill.total(), (50 + row.sums + row.copies + row.receiving) * kMiB) << v;
  }
}

TEST(MemoryBill, that_cannot_be_paid_is_refused_with_a_way_out) {
  const MemoryBill bill =
      memory_bill(kFacts, {.logical_workers = 8, .members = 4, .members_max = 8});
  const auto refused = fit_memory(bill, 4, 200 * kMiB);
  EXPECT_EQ(refused.error().code, Code::kExhausted);
  const std::string& words = refused.error().message;
  EXPECT_NE(words.find("4 workers need at least 240 MiB here, and there are 200 MiB"),
            std::string::npos)
      << words;
  EXPECT_NE(words.find("Ask for at most 3"), std::string::npos) << words;
  EXPECT_NE(fit_memory(bill, 1, kMiB).error().message.find("a smaller model"), std::string::npos);
}

TEST(MemoryBill, that_is_close_is_warned_of) {
  const MemoryBill bill =
      memory_bill(kFacts, {.logical_workers = 8, .members = 4, .members_max = 8});
  EXPECT_NE(fit_memory(bill, 4, 300 * kMiB)->find("may run out"), std::string::npos);
  EXPECT_EQ(fit_memory(bill, 4, 4 * bill.total()).value(), "");
  EXPECT_NE(fit_memory(bill, 4, 4 * bill.total() - 1).value(), "");
}

TEST(MemoryBill, facts_of_a_program_are_those_of_its_buffers) {
  const auto program = builtin_program("builtin:mlp", {"--ballast=8000"}).value();
  const auto trainee = program.make().value();
  const MemoryFacts facts = memory_facts(*trainee);
  EXPECT_EQ(facts.model_bytes, facts.optimizer_bytes);
  EXPECT_GE(facts.gradient_bytes, facts.model_bytes);
  EXPECT_EQ(memory_facts_from(program.facts["memory"]).value(), facts)
      << "what it says without making anything";
}

TEST(MemoryBill, facts_from_outside_are_sizes) {
  Json json = kFacts;
  EXPECT_EQ(memory_facts_from(json).value(), kFacts);
  json["sum_bytes"] = ~std::uint64_t{0};
  EXPECT_FALSE(memory_facts_from(json).ok());
  EXPECT_FALSE(memory_facts_from(Json::object()).ok());
}

TEST(MemoryBill, bytes_are_told_in_words) {
  EXPECT_EQ(bytes_text(17), "17 bytes");
  EXPECT_EQ(bytes_text(1536 * kMiB), "1.5 GiB");
  EXPECT_EQ(bytes_text(200 * kMiB), "200 MiB");
}

}  // namespace
}  // namespace edl::train
