#include "edl/store/history.h"

#include <gtest/gtest.h>

#include "edl/base/random.h"
#include "edl/base/text.h"

namespace edl::store {
namespace {

using State = std::map<std::string, KeyValue>;

// Every state since the beginning, kept whole: the naive version.
struct Naive {
  std::vector<State> states{{}, {}};                   // by revision
  std::vector<std::vector<KeyValue>> changes{{}, {}};  // by revision; version 0: deleted

  void begin() {
    states.push_back(states.back());
    changes.emplace_back();
  }
  Revision revision() const { return static_cast<Revision>(states.size()) - 1; }
  void put(const std::string& key, const std::string& value) {
    KeyValue& kv = states.back()[key];
    kv = {.key = key,
          .create_revision = kv.version == 0 ? revision() : kv.create_revision,
          .mod_revision = revision(),
          .version = kv.version + 1,
          .value = value};
    changes.back().push_back(kv);
  }
  void remove(const std::string& key) {
    states.back().erase(key);
    changes.back().push_back({.key = key, .mod_revision = revision()});
  }
};

std::vector<KeyValue> listed(const History& history, const std::string& from,
                             const std::string& end, Revision revision) {
  std::vector<KeyValue> out;
  for (const auto& hit : history.range({from, end}, revision)) {
    out.push_back(key_value(*hit.entry, *hit.version));
  }
  return out;
}

std::vector<KeyValue> listed(const State& state, const std::string& from, const std::string& end) {
  std::vector<KeyValue> out;
  for (const auto& [key, kv] : state) {
    const bool inside =
        end.empty() ? key == from : key >= from && (end == std::string(1, '\0') || key < end);
    if (inside) out.push_back(kv);
  }
  return out;
}

class Both {
 public:
  explicit Both(std::uint64_t seed) : random_(seed) {}

  void step() {
    naive_.begin();
    history_.begin();
    bool changed = false;
    for (std::uint64_t i = random_.below(3) + 1; i > 0; --i) changed = change() || changed;
    if (!changed) {
      naive_.states.pop_back();
      naive_.changes.pop_back();
    }
  }

  void compact() {
    const Revision low = std::max<Revision>(history_.compacted(), 0) + 1;
    if (low > history_.revision()) return;
    history_.compact(random_.between(low, history_.revision()));
  }

  void check() {
    ASSERT_EQ(history_.revision(), naive_.revision());
    const Revision first = std::max<Revision>(history_.compacted(), 1);
    const Revision at = random_.between(first, history_.revision());
    const std::string from = key();
    const std::string ends[] = {"", key(), std::string(1, '\0')};
    const std::string end = ends[random_.below(3)];
    EXPECT_EQ(listed(history_, from, end, at),
              listed(naive_.states[static_cast<std::size_t>(at)], from, end));
    check_log(at);
  }

 private:
  std::string key() { return text("k", random_.below(8)); }

  bool change() {
    const std::string name = key();
    const bool exists = history_.find(name) != nullptr;
    EXPECT_EQ(exists, naive_.states.back().contains(name));
    if (random_.once_in(3)) {
      if (exists) {
        history_.remove(name);
        naive_.remove(name);
      }
      return exists;
    }
    const std::string value = text("v", random_.below(1000));
    history_.put(name, value, 0);
    naive_.put(name, value);
    return true;
  }

  void check_log(Revision from) {
    auto change = history_.log_from(Place(from, 0));
    for (Revision revision = from; revision <= naive_.revision(); ++revision) {
      for (const KeyValue& expected : naive_.changes[static_cast<std::size_t>(revision)]) {
        ASSERT_NE(change, history_.log().end());
        EXPECT_EQ(key_value(*change->entry, history_.at(*change)), expected);
        const Version* before = history_.before(*change);
        const State& state = naive_.states[static_cast<std::size_t>(revision - 1)];
        if (revision > history_.compacted()) {
          EXPECT_EQ(before != nullptr, state.contains(expected.key));
        }
        ++change;
      }
    }
    EXPECT_EQ(change, history_.log().end());
  }

  Random random_;
  History history_;
  Naive naive_;
};

TEST(History, is_what_a_naive_one_is) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Both both(seed);
    Random random(seed + 1000);
    for (int i = 0; i < 60; ++i) {
      both.step();
      if (random.once_in(8)) both.compact();
      both.check();
    }
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(History, what_the_newest_revision_changed_survives_every_compaction) {
  History history;
  history.begin();
  history.put("a", "1", 0);
  history.begin();
  history.remove("a");
  history.compact(history.revision());
  ASSERT_EQ(history.log().size(), 1u);
  EXPECT_TRUE(history.at(history.log().front()).deleted());
  EXPECT_TRUE(history.range({"a", ""}, history.revision()).empty());
}

}  // namespace
}  // namespace edl::store
