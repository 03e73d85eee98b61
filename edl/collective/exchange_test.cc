#include "edl/collective/exchange.h"

#include <gtest/gtest.h>

#include "edl/base/random.h"
#include "edl/base/text.h"

namespace edl::collective {
namespace {

using model::Rank;

struct Letter {
  wire::Header header;
  Bytes bytes;
};

// A link that lays what is posted into a queue.
struct QueueLink final : Link {
  Result<void> post(const wire::MessageHead&, const Buffer&, std::function<void()>) override {
    return Error{Code::kInvalid, "an exchange has no device"};
  }
  Result<void> post_host(const wire::MessageHead& head, ConstBytes bytes,
                         std::function<void()>) override {
    if (broken) return Error{Code::kUnavailable, "broken"};
    Letter letter{{}, copy_bytes(bytes)};
    letter.header.type = head.type;
    letter.header.generation = head.generation;
    letter.header.first = head.first;
    letter.header.second = head.second;
    letter.header.payload_bytes = bytes.size();
    letters.push_back(std::move(letter));
    return {};
  }
  void drop(model::Generation) override { letters.clear(); }
  std::deque<Letter> letters;
  bool broken = false;
};

struct Circle {
  explicit Circle(std::uint32_t count) : ways(count), failures(count) {
    view.generation = model::Generation(1);
    view.members.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      ways[i] = std::vector<QueueLink>(count);
      exchanges.push_back(std::make_unique<Exchange>(
          [this, i](Rank, const Error& error) { failures[i] = error.message; }));
      enter(i);
    }
  }
  void enter(std::uint32_t i) {
    std::vector<Link*> links;
    for (std::uint32_t to = 0; to < ways.size(); ++to) {
      links.push_back(to == i ? nullptr : &ways[i][to]);
    }
    exchanges[i]->enter(view, Rank(i), links);
  }
  // One letter drawn by chance, in two pieces; false when there is none.
  bool deliver(Random& random) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> full;
    for (std::uint32_t from = 0; from < ways.size(); ++from) {
      for (std::uint32_t to = 0; to < ways.size(); ++to) {
        if (!ways[from][to].letters.empty()) full.emplace_back(from, to);
      }
    }
    if (full.empty()) return false;
    const auto [from, to] = full[random.below(full.size())];
    const Letter letter = ways[from][to].letters.front();
    ways[from][to].letters.pop_front();
    const std::size_t cut = letter.bytes.size() / 2;
    give(from, to, letter, 0, cut == 0 ? letter.bytes.size() : cut);
    if (cut > 0) give(from, to, letter, cut, letter.bytes.size());
    return true;
  }
  void give(std::uint32_t from, std::uint32_t to, const Letter& letter, std::size_t begin,
            std::size_t end) {
    const auto taken = exchanges[to]->on_bulk(Rank(from), letter.header, begin,
                                              ConstBytes(letter.bytes).subspan(begin, end - begin));
    if (!taken.ok()) failures[to] = taken.error().message;
  }

  model::View view;
  std::vector<std::vector<QueueLink>> ways;  // from, to
  std::vector<std::unique_ptr<Exchange>> exchanges;
  std::vector<std::string> failures;
};

Bytes words(std::string_view text) { return copy_bytes(bytes_of(text)); }

// Gather, broadcast, broadcast, barrier, again and again, each member at its own pace.
struct Player {
  Circle& circle;
  std::uint32_t rank;
  int left;
  std::string seen;
  int barriers = 0;

  void next() {
    if (left-- == 0) return;
    Exchange& exchange = *circle.exchanges[rank];
    const int round = left / 4;
    const auto got = [this](const Bytes& bytes) {
      seen += text(text_of(bytes), ";");
      next();
    };
    if (left % 4 == 3) {
      exchange.gather(words(text("g", rank, ".", round)), [this](const std::vector<Bytes>& all) {
        for (const Bytes& one : all) seen += text(text_of(one), ",");
        next();
      });
    } else if (left % 4 == 2) {
      exchange.broadcast(Rank(0), words(text("a", rank, ".", round)), got);
    } else if (left % 4 == 1) {
      const auto last = static_cast<std::uint32_t>(circle.exchanges.size() - 1);
      exchange.broadcast(Rank(last), words(text("b", rank, ".", round)), got);
    } else {
      exchange.barrier([this] {
        ++barriers;
        next();
      });
    }
  }
};

TEST(Exchange, everybody_sees_the_same_in_every_order_of_arrival) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    const auto count = static_cast<std::uint32_t>(random.below(6) + 1);
    Circle circle(count);
    std::deque<Player> players;
    for (std::uint32_t i = 0; i < count; ++i) players.push_back({circle, i, 8, {}});
    for (Player& player : players) player.next();
    while (circle.deliver(random)) {
      int least = players[0].barriers;
      int most = least;
      for (const Player& player : players) {
        least = std::min(least, player.barriers);
        most = std::max(most, player.barriers);
      }
      EXPECT_LE(most, least + 1);
    }
    std::string right;
    for (const int round : {1, 0}) {
      for (std::uint32_t i = 0; i < count; ++i) right += text("g", i, ".", round, ",");
      right += text("a0.", round, ";b", count - 1, ".", round, ";");
    }
    for (const Player& player : players) {
      EXPECT_EQ(player.seen, right);
      EXPECT_EQ(player.barriers, 2);
      EXPECT_EQ(circle.failures[player.rank], "");
    }
  }
}

TEST(Exchange, different_questions_are_found) {
  Random random(1);
  Circle circle(2);
  circle.exchanges[0]->barrier([] { FAIL(); });
  circle.exchanges[1]->gather({}, [](const std::vector<Bytes>&) { FAIL(); });
  while (circle.deliver(random)) {
  }
  EXPECT_EQ(circle.failures[0], "rank 1 is in exchange 1 of kind 1, this is 1 of kind 3");
  EXPECT_EQ(circle.failures[1], "rank 0 is in exchange 1 of kind 3, this is 1 of kind 1");
}

TEST(Exchange, parts_that_are_old_too_many_or_too_long_are_refused) {
  Circle circle(2);
  Letter letter;
  letter.header.generation = circle.view.generation;
  letter.header.second = 2;
  circle.give(1, 0, letter, 0, 0);
  EXPECT_NE(circle.failures[0].find("of exchange 0, this is 0"), std::string::npos)
      << circle.failures[0];
  circle.failures[0] = "";
  letter.header.first = 1;
  letter.header.payload_bytes = Exchange::kPartBytesMax + 1;
  circle.give(1, 0, letter, 0, 0);
  EXPECT_NE(circle.failures[0], "");
  circle.failures[0] = "";
  letter.header.payload_bytes = 0;
  for (std::size_t i = 1; i <= Exchange::kEarlyMax; ++i) {
    letter.header.first = i;
    circle.give(1, 0, letter, 0, 0);
    EXPECT_EQ(circle.failures[0], "");
  }
  letter.header.first = Exchange::kEarlyMax + 1;
  circle.give(1, 0, letter, 0, 0);
  EXPECT_NE(circle.failures[0], "");
}

TEST(Exchange, nothing_is_told_after_it_was_left_and_the_next_view_works) {
  Random random(1);
  Circle circle(3);
  for (auto& exchange : circle.exchanges) {
    exchange->gather(words("old"), [](const std::vector<Bytes>&) { FAIL(); });
  }
  circle.deliver(random);
  const Letter late = circle.ways[1][0].letters.empty() ? Letter{} : circle.ways[1][0].letters[0];
  circle.view.generation = model::Generation(2);
  int told = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    circle.enter(i);
    if (i == 0) circle.give(1, 0, late, 0, late.bytes.size());
  }
  for (auto& exchange : circle.exchanges) {
    exchange->gather(words("new"), [&](const std::vector<Bytes>& all) {
      for (const Bytes& one : all) EXPECT_EQ(text_of(one), "new");
      ++told;
    });
  }
  while (circle.deliver(random)) {
  }
  EXPECT_EQ(told, 3);
}

TEST(Exchange, a_broken_link_is_told) {
  Circle circle(2);
  circle.ways[0][1].broken = true;
  circle.exchanges[0]->barrier([] { FAIL(); });
  EXPECT_EQ(circle.failures[0], "broken");
}

}  // namespace
}  // namespace edl::collective
