// Batches of a data set, loaded ahead by threads of its own. What will be asked for is told before
// it is; a guess that was wrong costs time and nothing else, since a batch depends on nothing but
// its samples and the draw.
//
// Its calls are made by one thread. With one data thread all batches are loaded there, so that the
// data set is asked by one thread at a time; with more, the samples of a batch are shared out among
// them, and the data set is asked by several at once.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "edl/os/channel.h"
#include "edl/os/thread.h"
#include "edl/torch/dataset.h"

namespace edl::torch {

struct Wish {
  std::vector<std::uint64_t> samples{};
  Draw draw{};
  bool operator==(const Wish&) const = default;
};

// How many threads load ahead when the program wants so many, or says nothing.
Result<std::uint32_t> data_threads(const Dataset& data, std::optional<std::uint32_t> wanted);

class Loader {
 public:
  // With 0 threads batches are loaded where they are asked for. Threads begin with the first wish:
  // a process without threads can be forked.
  Loader(std::shared_ptr<const Dataset> data, std::uint32_t threads);
  ~Loader();

  // What will be asked for, in this order. What was expected before and is not among these is
  // given up. Some may be left for later when they are many.
  void expect(const std::vector<Wish>& wishes);
  // Loaded ahead, else loaded now.
  Result<Batch> batch(const Wish& wish);

  bool loads_ahead() const { return thread_count_ > 0; }
  // Batches that were there, or on their way, when they were asked for.
  std::uint64_t expected() const { return expected_; }

 private:
  // A share of the samples of a wish, loaded.
  struct Piece {
    std::size_t place = 0;
    Result<Batch> batch;
  };
  struct Order {
    Order(const Wish& w, std::size_t p) : wish(w), pieces(p), loaded(p) {}
    const Wish wish;
    const std::size_t pieces;
    os::Channel<Piece> loaded;
  };
  struct Task {
    std::weak_ptr<Order> order;  // gone: nobody wants it any more
    std::size_t place = 0;
  };

  void begin();
  void work();
  Result<Batch> load(const Order& order, std::size_t place) const;
  std::shared_ptr<Order> find(const Wish& wish) const;
  // Nothing when there is no room for all of its tasks within `wait`.
  std::shared_ptr<Order> place_order(const Wish& wish, Duration wait);
  static Result<Batch> receive(Order& order);

  const std::shared_ptr<const Dataset> data_;
  const std::uint32_t thread_count_;
  std::deque<std::shared_ptr<Order>> orders_;
  std::uint64_t expected_ = 0;
  bool is_checked_ = false;  // that the data draw from no numbers of torch's own
  os::Channel<Task> tasks_;
  std::vector<std::unique_ptr<os::Thread>> threads_;  // last: they end before what they use
};

}  // namespace edl::torch
