// For random tests: many seeds, a table of what they hit, and how to repeat the one that failed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace edl::tests {

// How often each fault and each state of a protocol was hit, over many seeds.
class HitTable {
 public:
  // `wanted` must each be hit in at least one of a hundred seeds.
  explicit HitTable(std::vector<std::string> wanted) : wanted_(std::move(wanted)) {}

  void add(const std::map<std::string, std::uint64_t, std::less<>>& hits);
  // Prints the table, and fails the running test for each hole. Fewer than 300 seeds prove nothing
  // about holes and are not judged.
  void judge() const;

 private:
  struct Row {
    std::uint64_t seeds = 0;
    std::uint64_t hits = 0;
  };
  std::vector<std::string> wanted_;
  std::map<std::string, Row> rows_;
  std::uint64_t seeds_ = 0;
};

// Runs `body` for `count` seeds (environment: EDL_SEEDS, and EDL_SEED for the first) until one
// fails the running test; says which and how fast it was.
void for_each_seed(std::uint64_t count, const std::function<void(std::uint64_t seed)>& body);

}  // namespace edl::tests
