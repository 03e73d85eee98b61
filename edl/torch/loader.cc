#include "edl/torch/loader.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "edl/base/text.h"
#include "edl/torch/guarded.h"

namespace edl::torch {
namespace {

using ::torch::Tensor;

constexpr std::uint32_t kThreadsMax = 64;
constexpr std::size_t kOrdersMax = 16;  // that are loaded ahead
constexpr Duration kLook = 1s;          // at whether it is over

Tensor own_numbers() { return at::detail::getDefaultCPUGenerator().get_state(); }

Tensor joined(const std::vector<Batch>& batches, Tensor Batch::*part) {
  std::vector<Tensor> tensors;
  for (const Batch& batch : batches) {
    if ((batch.*part).defined()) tensors.push_back(batch.*part);
  }
  return tensors.empty() ? Tensor() : ::torch::cat(tensors);
}

}  // namespace

Result<std::uint32_t> data_threads(const Dataset& data, std::optional<std::uint32_t> wanted) {
  const bool is_stream = data.stream() != nullptr;
  const std::uint32_t threads = wanted.value_or(data.is_costly() && !is_stream ? 1 : 0);
  if (is_stream && threads > 0) {
    return Error{Code::kInvalid, text("the program wants ", threads, " data threads; a stream is ",
                                      "read where it is trained on: set data_threads to 0")};
  }
  if (threads <= kThreadsMax) return threads;
  return Error{Code::kInvalid,
               text("the program wants ", threads, " data threads; the limit is ", kThreadsMax)};
}

Loader::Loader(std::shared_ptr<const Dataset> data, std::uint32_t threads)
    : data_(std::move(data)),
      thread_count_(threads),
      tasks_(kOrdersMax * 2 * std::max(threads, 1U)) {}

Loader::~Loader() {
  orders_.clear();
  tasks_.close();
}

void Loader::begin() {
  while (threads_.size() < thread_count_) {
    threads_.push_back(std::make_unique<os::Thread>("edl-data", [this] { work(); }));
  }
}

void Loader::work() {
  at::set_num_threads(1);
  ::torch::NoGradGuard no_grad;
  while (!tasks_.closed()) {
    const std::optional<Task> task = tasks_.receive(kLook);
    const std::shared_ptr<Order> order = task ? task->order.lock() : nullptr;
    if (order == nullptr) continue;
    Piece piece{task->place, guarded([&] { return load(*order, task->place); })};
    order->loaded.send(piece, 0s);  // there is room for all of them
  }
}

Result<Batch> Loader::load(const Order& order, std::size_t place) const {
  const std::span<const std::uint64_t> samples(order.wish.samples);
  const std::size_t from = samples.size() * place / order.pieces;
  const std::size_t to = samples.size() * (place + 1) / order.pieces;
  return data_->batch(samples.subspan(from, to - from), order.wish.draw);
}

std::shared_ptr<Loader::Order> Loader::find(const Wish& wish) const {
  const auto found = std::find_if(orders_.begin(), orders_.end(),
                                  [&](const auto& order) { return order->wish == wish; });
  return found == orders_.end() ? nullptr : *found;
}

std::shared_ptr<Loader::Order> Loader::place_order(const Wish& wish, Duration wait) {
  begin();
  const std::size_t pieces = std::clamp<std::size_t>(wish.samples.size(), 1, thread_count_);
  auto order = std::make_shared<Order>(wish, pieces);
  for (std::size_t place = 0; place < pieces; ++place) {
    Task task{order, place};
    if (!tasks_.send(task, wait)) return nullptr;
  }
  return order;
}

void Loader::expect(const std::vector<Wish>& wishes) {
  if (thread_count_ == 0) return;
  std::deque<std::shared_ptr<Order>> orders;
  for (const Wish& wish : wishes) {
    if (orders.size() == kOrdersMax) break;
    std::shared_ptr<Order> order = find(wish);
    if (order == nullptr) order = place_order(wish, 0s);
    if (order == nullptr) break;
    orders.push_back(std::move(order));
  }
  orders_ = std::move(orders);
}

Result<Batch> Loader::receive(Order& order) {
  std::vector<std::optional<Result<Batch>>> pieces(order.pieces);
  for (std::size_t i = 0; i < order.pieces; ++i) {
    std::optional<Piece> piece;
    while (!piece) piece = order.loaded.receive(kLook);
    pieces[piece->place] = std::move(piece->batch);
  }
  std::vector<Batch> batches;
  for (auto& piece : pieces) {
    if (!piece->ok()) return piece->error();
    batches.push_back(std::move(*piece).value());
  }
  if (batches.size() == 1) return batches.front();
  return Batch{joined(batches, &Batch::x), joined(batches, &Batch::y)};
}

Result<Batch> Loader::batch(const Wish& wish) {
  if (thread_count_ == 0) return data_->batch(wish.samples, wish.draw);
  // Nobody else draws while this waits for the first batch: who does now would do so while a part
  // is computed, too, and change the part's numbers.
  const Tensor before = is_checked_ ? Tensor() : own_numbers();
  std::shared_ptr<Order> order = find(wish);
  if (order != nullptr) {
    ++expected_;
    std::erase(orders_, order);
  }
  while (order == nullptr) order = place_order(wish, kLook);
  auto batch = receive(*order);
  if (std::exchange(is_checked_, true) || before.equal(own_numbers())) return batch;
  return Error{Code::kInvalid,
               "the data set draws from torch's own random numbers, which a data thread must not: "
               "draw from what it is given for the sample, or set data_threads to 0"};
}

}  // namespace edl::torch
