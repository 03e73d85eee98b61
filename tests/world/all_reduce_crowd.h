// For tests: members of a view as processes of a virtual world, with numbers made from the step and
// the logical worker, and the naive sum to compare with.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "edl/base/random.h"
#include "edl/base/text.h"
#include "edl/collective/all_reduce.h"
#include "edl/os/virtual/world.h"
#include "edl/wire/endpoint.h"

namespace edl::collective {

using model::LogicalWorker;
using model::Rank;
using model::Step;
using model::TreeNode;

inline const Layout& mixed_layout() {
  static const Layout layout({{Element::kF32, 100'003},
                              {Element::kBf16, 70'001},
                              {Element::kF64, 9'001},
                              {Element::kI64, 777},
                              {Element::kF16, 40'003}});
  return layout;
}

// The gradient of one part, in the space of sums: numbers whose sum depends on the order.
inline Bytes part_numbers(const Layout& layout, Step step, std::uint32_t v) {
  Bytes bytes(layout.sum_bytes());
  Random random(step.value() * 1000 + v);
  for (std::size_t i = 0; i < layout.segments().size(); ++i) {
    const Element element = sum_element(layout.segments()[i].element);
    const Range range = layout.sums(i);
    for (std::uint64_t at = 0; at < range.bytes; at += element_bytes(element)) {
      std::byte* to = bytes.data() + range.offset + at;
      const auto number = static_cast<std::int64_t>(random.next()) >> 40;
      if (element == Element::kF32) store_int(to, static_cast<float>(number) / 7);
      if (element == Element::kF64) store_int(to, static_cast<double>(number) / 7e9);
      if (element == Element::kI64) store_int(to, number);
    }
  }
  return bytes;
}

// Both in the space of sums.
inline void add_numbers(const Layout& layout, Bytes& left, const Bytes& right) {
  for (std::size_t i = 0; i < layout.segments().size(); ++i) {
    const Range range = layout.sums(i);
    const ByteSpan into = ByteSpan(left).subspan(range.offset, range.bytes);
    add(sum_element(layout.segments()[i].element), into,
        ConstBytes(right).subspan(range.offset, range.bytes), into);
  }
}

// The naive sum of the tree's node.
inline Bytes node_sum(const Layout& layout, Step step, TreeNode node) {
  if (node.is_leaf()) return part_numbers(layout, step, node.lo);
  Bytes sum = node_sum(layout, step, node.left());
  add_numbers(layout, sum, node_sum(layout, step, node.right()));
  return sum;
}

// What the whole step must give.
inline Bytes rounded(const Layout& layout, const Bytes& sums) {
  Bytes out(layout.reduced_bytes());
  for (std::size_t i = 0; i < layout.segments().size(); ++i) {
    const Element element = layout.segments()[i].element;
    const ConstBytes from = ConstBytes(sums).subspan(layout.sums(i).offset, layout.sums(i).bytes);
    const ByteSpan to = ByteSpan(out).subspan(layout.reduced(i).offset, layout.reduced(i).bytes);
    if (sum_element(element) != element) {
      narrow(element, from, to);
    } else {
      std::copy(from.begin(), from.end(), to.begin());
    }
  }
  return out;
}

inline model::View view_of(std::uint64_t generation, std::uint32_t members, std::uint32_t v) {
  model::View view;
  view.generation = model::Generation(generation);
  view.first_step = Step(1);
  for (std::uint32_t i = 0; i < members; ++i) {
    view.members.push_back({.id = text("w", i), .address = "", .host = "", .logical = {}});
  }
  for (std::uint32_t i = 0; i < v; ++i) {
    view.members[std::uint64_t{i} * members / v].logical.emplace_back(i);
  }
  return view;
}

// A process that reduces steps as soon as it can.
struct Worker final : os::Program {
  Worker(os::System& s, std::uint32_t n)
      : system{s},
        number(n),
        endpoint(s, {.job = "job",
                     .id = text("w", n),
                     .secret = wire::Secret::make(bytes_of("the job's secret")).value()}),
        reduced(mixed_layout().reduced_bytes()),
        all_reduce(mixed_layout(), adder, Buffer(ByteSpan(reduced)),
                   {.first_reduced = [this](Step step) { firsts.push_back(step); },
                    .reduced = [this](Step step, const model::Digest& d) { on_reduced(step, d); },
                    .failed = [this](Rank, const Error& error) { failure = error.message; }}) {
    EDL_CHECK(
        endpoint.listen({"0.0.0.0", 80, {}}, [this](auto made) { take(std::move(made)); }).ok());
    for (std::uint32_t i = 0; i < n; ++i) {
      attempts.push_back(endpoint.connect({text("w", i), 80, {}}, 5s,
                                          [this](auto made) { take(std::move(made).value()); }));
    }
  }

  void take(std::unique_ptr<wire::Connection> made) {
    wire::Connection& connection = *made;
    const std::string id = made->peer_id();
    connection.receive_bulk(
        [this, id](const wire::Header& header, std::uint64_t offset, ConstBytes piece) {
          const auto rank = view.rank_of(id);
          ASSERT_TRUE(rank);
          const auto taken = all_reduce.on_bulk(*rank, header, offset, piece);
          if (!taken.ok()) failure = taken.error().message;
        },
        [this, id](const wire::Header& header, std::uint64_t offset) {
          const auto rank = view.rank_of(id);
          return rank ? all_reduce.bulk_place(*rank, header, offset) : ByteSpan();
        });
    connection.start([](wire::Frame) {}, [](const Error&) {});
    links[id] = std::make_unique<ConnectionLink>(connection);
    connections[id] = std::move(made);
  }

  void enter(const model::View& next, const std::function<std::uint32_t(Step)>& parts, int n) {
    view = next;
    parts_of = parts;
    left = n;
    std::vector<Link*> by_rank;
    for (const model::Member& member : view.members) by_rank.push_back(links[member.id].get());
    all_reduce.enter(view, *view.rank_of(text("w", number)), by_rank);
    for (const model::Member& member : view.members) {
      if (connections.contains(member.id)) connections[member.id]->enter(view.generation);
    }
    begin(view.first_step);
  }

  void begin(Step step) {
    all_reduce.begin(step, parts_of(step));
    sums.clear();
    for (const TreeNode& node : std::vector(all_reduce.own_nodes())) {
      sums.push_back(node_sum(mixed_layout(), step, node));
      contribute_early(step, node);
      EXPECT_TRUE(all_reduce.contribute(node, Buffer(ByteSpan(sums.back()))).ok());
    }
  }

  // Some members have the ends of some segments before the rest.
  void contribute_early(Step step, TreeNode node) {
    Random random(step.value() * 100 + number);
    for (std::size_t i = 0; i < mixed_layout().segments().size(); ++i) {
      if (random.once_in(2)) continue;
      const std::uint64_t offset = random.below(mixed_layout().sums(i).bytes);
      EXPECT_TRUE(all_reduce.contribute_early(node, Buffer(ByteSpan(sums.back())), i, offset).ok());
      EXPECT_TRUE(all_reduce.contribute_early(node, Buffer(ByteSpan(sums.back())), i, 0).ok());
    }
  }

  void on_reduced(Step step, const model::Digest& digest) {
    EXPECT_EQ(firsts.empty() ? Step() : firsts.back(), step);
    results.push_back(reduced);
    digests.push_back(digest);
    if (--left == 0) return;
    system.post([this, step, generation = view.generation] {
      if (view.generation == generation && all_reduce.entered()) begin(step.next());
    });
  }

  os::System& system;
  std::uint32_t number;
  wire::Endpoint endpoint;
  std::vector<os::Pending> attempts;
  std::map<std::string, std::unique_ptr<wire::Connection>> connections;
  std::map<std::string, std::unique_ptr<ConnectionLink>> links;
  model::View view;
  std::function<std::uint32_t(Step)> parts_of;
  int left = 0;
  std::deque<Bytes> sums;
  Bytes reduced;
  HostAdder adder;
  AllReduce all_reduce;
  std::vector<Step> firsts;
  std::vector<Bytes> results;
  std::vector<model::Digest> digests;
  std::string failure;
};

// So many workers, connected with each other.
struct Crowd {
  explicit Crowd(std::uint32_t count, std::uint64_t seed = 1) : world({.seed = seed}) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const int node = world.add_node(text("w", i));
      world.install(text("w", i), [this, i](os::System& system, const os::Arguments&) {
        auto worker = std::make_unique<Worker>(system, i);
        workers.push_back(worker.get());
        return worker;
      });
      world.start(node, {text("w", i)});
      world.run_for(10ms);
    }
    world.run_for(1s);
    for (const Worker* worker : workers) EXPECT_EQ(worker->links.size(), count - 1);
  }

  void enter(const model::View& view, const std::function<std::uint32_t(Step)>& parts, int steps) {
    for (Worker* worker : workers) {
      if (view.rank_of(text("w", worker->number))) worker->enter(view, parts, steps);
    }
  }
  [[nodiscard]] bool run(const model::View& view) {
    return world.run_until(
        [&] {
          for (const Worker* worker : workers) {
            if (view.rank_of(text("w", worker->number)) && worker->left > 0) return false;
          }
          return true;
        },
        60s);
  }

  std::vector<Worker*> workers;
  os::VirtualWorld world;
};

}  // namespace edl::collective
