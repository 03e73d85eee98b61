#include "tests/world/seeds.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace edl::tests {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

}  // namespace

void HitTable::add(const std::map<std::string, std::uint64_t, std::less<>>& hits) {
  ++seeds_;
  for (const auto& [name, times] : hits) {
    rows_[name].hits += times;
    rows_[name].seeds += times > 0 ? 1 : 0;
  }
}

void HitTable::judge() const {
  auto rows = rows_;
  for (const std::string& name : wanted_) rows[name];  // so that what was never hit is shown
  std::printf("%-36s %12s %10s\n", "hit", "times", "% of seeds");
  for (const auto& [name, row] : rows) {
    const double share = 100.0 * static_cast<double>(row.seeds) / static_cast<double>(seeds_);
    std::printf("%-36s %12llu %10.1f\n", name.c_str(), static_cast<unsigned long long>(row.hits),
                share);
  }
  if (seeds_ < 300) return;
  for (const std::string& name : wanted_) {
    const std::uint64_t seeds = rows[name].seeds;
    EXPECT_GE(seeds * 100, seeds_)
        << name << " was hit in " << seeds << " of " << seeds_ << " seeds";
  }
}

void for_each_seed(std::uint64_t count, const std::function<void(std::uint64_t seed)>& body) {
  const std::uint64_t first = number_from("EDL_SEED", 1);
  count = number_from("EDL_SEEDS", count);
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t done = 0;
  for (; done < count; ++done) {
    // Where to look when a check ends the process.
    if (done > 0 && done % 500 == 0) {
      std::fprintf(stderr, "%llu seeds\n", static_cast<unsigned long long>(done));
    }
    body(first + done);
    if (testing::Test::HasFailure()) {
      std::printf("failed after %llu seeds; repeat with EDL_SEED=%llu EDL_SEEDS=1\n",
                  static_cast<unsigned long long>(done + 1),
                  static_cast<unsigned long long>(first + done));
      return;
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%llu seeds in %.1f s: %.0f a second\n", static_cast<unsigned long long>(done),
              took.count(), static_cast<double>(done) / took.count());
}

}  // namespace edl::tests
