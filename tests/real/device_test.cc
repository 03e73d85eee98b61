// An all-reduce on a device that is not there: memory that nobody may touch but its Adder and
// Links, whose work runs late and on a thread of its own.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <deque>

#include "edl/base/text.h"
#include "edl/collective/all_reduce.h"
#include "edl/os/channel.h"
#include "edl/os/posix/system.h"
#include "edl/os/thread.h"
#include "edl/wire/endpoint.h"

namespace edl::collective {
namespace {

using model::Rank;
using model::Step;

constexpr Device kMock{.type = 12, .id = 3};
constexpr std::size_t kArenaBytes = 16 << 20;

// Runs tasks in order on its thread, with the memory open only meanwhile.
class MockDevice {
 public:
  explicit MockDevice(os::System& system) : system_(system) {
    arena_ = ::mmap(nullptr, kArenaBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EDL_CHECK(arena_ != MAP_FAILED);
    thread_.emplace("device", [this] { run(); });
  }
  ~MockDevice() {
    tasks_.close();
    thread_.reset();
    ::munmap(arena_, kArenaBytes);
  }

  Buffer allocate(std::uint64_t bytes) {
    const Buffer made(static_cast<std::byte*>(arena_) + used_, bytes, kMock);
    used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    EDL_CHECK(used_ <= kArenaBytes);
    return made;
  }
  void submit(os::Task task) { EDL_CHECK(tasks_.send(task, 10s)); }
  void then(os::Task task) {
    submit([this, task = std::move(task)] { system_.post(task); });
  }

 private:
  void run() {
    while (!tasks_.closed()) {
      auto task = tasks_.receive(1s);
      if (!task) continue;
      EDL_CHECK(::mprotect(arena_, kArenaBytes, PROT_READ | PROT_WRITE) == 0);
      (*task)();
      EDL_CHECK(::mprotect(arena_, kArenaBytes, PROT_NONE) == 0);
    }
  }

  os::System& system_;
  void* arena_ = nullptr;
  std::uint64_t used_ = 0;
  os::Channel<os::Task> tasks_{100'000};
  std::optional<os::Thread> thread_;
};

class MockAdder final : public Adder {
 public:
  explicit MockAdder(MockDevice& device) : device_(device) {}

  Buffer room(std::uint64_t bytes) override { return device_.allocate(bytes); }
  void copy_in(ConstBytes from, const Buffer& to) override {
    device_.submit([this, held = copy_bytes(from), to] { host_.copy_in(held, to); });
  }
  void add(Element e, const Buffer& left, const Buffer& right, const Buffer& sum) override {
    device_.submit([=, this] { host_.add(e, left, right, sum); });
  }
  void add_left(Element e, ConstBytes left, const Buffer& right, const Buffer& sum) override {
    device_.submit([=, this, held = copy_bytes(left)] { host_.add_left(e, held, right, sum); });
  }
  void add_right(Element e, const Buffer& left, ConstBytes right, const Buffer& sum) override {
    device_.submit([=, this, held = copy_bytes(right)] { host_.add_right(e, left, held, sum); });
  }
  void finish(Element e, const Buffer& sums, const Buffer& reduced,
              std::span<BlockHash> hashes) override {
    device_.submit([=, this] { host_.finish(e, sums, reduced, hashes); });
  }
  void then(std::function<void()> done) override { device_.then(std::move(done)); }

 private:
  MockDevice& device_;
  HostAdder host_;
};

// Copies out on the device's thread, then sends.
class MockLink final : public Link {
 public:
  MockLink(MockDevice& device, wire::Connection& connection)
      : device_(device), connection_(connection) {}

  Result<void> post(const wire::MessageHead& head, const Buffer& bytes,
                    std::function<void()> sent) override {
    EXPECT_EQ(bytes.device(), kMock);
    const auto held = std::make_shared<Bytes>();
    device_.submit(
        [held, bytes] { held->assign(bytes.address(), bytes.address() + bytes.bytes()); });
    send(head, held, std::move(sent));
    return {};
  }
  Result<void> post_host(const wire::MessageHead& head, ConstBytes bytes,
                         std::function<void()> sent) override {
    send(head, std::make_shared<Bytes>(copy_bytes(bytes)), std::move(sent));
    return {};
  }
  void drop(model::Generation generation) override {
    ++epoch_;
    connection_.drop_bulk(generation);
  }

 private:
  void send(const wire::MessageHead& head, std::shared_ptr<Bytes> held,
            std::function<void()> sent) {
    device_.then([this, head, held, sent, epoch = epoch_] {
      if (epoch != epoch_) return;
      const ConstBytes bytes = *held;
      EXPECT_TRUE(connection_
                      .send_bulk(head, bytes,
                                 [held, sent] {
                                   if (sent) sent();
                                 })
                      .ok());
    });
  }

  MockDevice& device_;
  wire::Connection& connection_;
  int epoch_ = 0;
};

const Layout& layout() {
  static const Layout it({{Element::kF32, 300'001}, {Element::kBf16, 100'003}});
  return it;
}

// Exact in every order, so that the sum is easily said; the order has tests of its own.
Bytes numbers(std::uint32_t v, Step step) {
  Bytes bytes(layout().sum_bytes());
  for (std::size_t i = 0; i < bytes.size() / 4; ++i) {
    store_int(bytes.data() + 4 * i, static_cast<float>((i * (v + 1) + step.value()) % 16));
  }
  return bytes;
}

struct Member {
  Member(os::System& s, std::uint32_t rank)
      : system{s},
        own(rank),
        endpoint(s, {.job = "job",
                     .id = text("w", rank),
                     .secret = wire::Secret::make(bytes_of("the job's secret")).value()}),
        device(s),
        adder(device),
        reduced(device.allocate(layout().reduced_bytes())),
        sums(device.allocate(layout().sum_bytes())) {
    address =
        endpoint.listen({"127.0.0.1", 0, {}}, [this](auto made) { take(std::move(made)); }).value();
  }

  void connect(const Member& other) {
    attempts.push_back(
        endpoint.connect(other.address, 10s, [this](auto made) { take(std::move(made).value()); }));
  }
  void take(std::unique_ptr<wire::Connection> made) {
    const Rank from(static_cast<std::uint32_t>(made->peer_id()[1] - '0'));
    made->receive_bulk(
        [this, from](const wire::Header& header, std::uint64_t offset, ConstBytes piece) {
          const auto taken = all_reduce->on_bulk(from, header, offset, piece);
          EXPECT_TRUE(taken.ok()) << taken.error().message;
        });
    made->start([](wire::Frame) {}, [](const Error&) {});
    links[from.value()] = std::make_unique<MockLink>(device, *made);
    connections[from.value()] = std::move(made);
    on_connected();
  }

  void enter(const model::View& view) {
    std::vector<Link*> by_rank;
    for (auto& link : links) by_rank.push_back(link.get());
    all_reduce->enter(view, own, by_rank);
    for (auto& connection : connections) {
      if (connection) connection->enter(view.generation);
    }
    begin(view.first_step);
  }
  void begin(Step step) {
    all_reduce->begin(step, 3);
    adder.copy_in(numbers(own.value(), step), sums);
    adder.then(
        [this] { EXPECT_TRUE(all_reduce->contribute(all_reduce->own_nodes()[0], sums).ok()); });
  }
  // Reads the device's memory where that is allowed.
  void look(Step step, const std::function<void(Bytes)>& then) {
    const auto out = std::make_shared<Bytes>();
    device.submit(
        [this, out] { out->assign(reduced.address(), reduced.address() + reduced.bytes()); });
    device.then([out, then] { then(*out); });
    last = step;
  }

  os::System& system;
  Rank own;
  wire::Endpoint endpoint;
  os::Address address;
  std::vector<os::Pending> attempts;
  std::array<std::unique_ptr<wire::Connection>, 3> connections;
  MockDevice device;
  MockAdder adder;
  std::array<std::unique_ptr<MockLink>, 3> links;
  Buffer reduced;
  Buffer sums;
  std::unique_ptr<AllReduce> all_reduce;
  std::function<void()> on_connected;
  Step last;
};

Bytes right_sum(Step step) {
  Bytes sum = numbers(0, step);
  for (std::uint32_t v = 1; v < 3; ++v) add(Element::kF32, sum, numbers(v, step), sum);
  Bytes out(layout().reduced_bytes());
  std::copy_n(sum.begin(), layout().sums(0).bytes, out.begin());
  narrow(Element::kBf16, ConstBytes(sum).subspan(layout().sums(1).offset, layout().sums(1).bytes),
         ByteSpan(out).subspan(layout().reduced(1).offset, layout().reduced(1).bytes));
  return out;
}

TEST(Device, nobody_looks_into_its_memory_and_its_work_may_be_late) {
  constexpr std::uint64_t kSteps = 3;
  const auto sink = silent_log_sink();
  const auto system = os::posix_system({.log_sink = sink.get()});
  const os::Pending limit = system->after(100s, [&] { system->finish(99); });
  model::View view;
  view.generation = model::Generation(1);
  view.first_step = Step(1);
  view.members.resize(3);
  for (std::uint32_t i = 0; i < 3; ++i) view.members[i].logical = {model::LogicalWorker(i)};
  std::deque<Member> members;
  int connected = 0;
  int done = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    Member& member = members.emplace_back(*system, i);
    const auto reduced = [&, i](Step step, const model::Digest&) {
      members[i].look(step, [&, i, step](const Bytes& got) {
        EXPECT_TRUE(got == right_sum(step)) << "step " << step.value() << " of rank " << i;
        if (step < Step(kSteps)) return members[i].begin(step.next());
        if (++done == 3) system->finish(0);
      });
    };
    member.all_reduce = std::make_unique<AllReduce>(
        layout(), member.adder, member.reduced,
        AllReduceEvents{.first_reduced = {}, .reduced = reduced, .failed = {}});
    member.on_connected = [&] {
      if (++connected < 6) return;
      for (Member& one : members) one.enter(view);
    };
  }
  for (std::uint32_t i = 1; i < 3; ++i) {
    for (std::uint32_t j = 0; j < i; ++j) members[i].connect(members[j]);
  }
  EXPECT_EQ(system->run(), 0);
  EXPECT_EQ(done, 3);
  for (Member& member : members) member.all_reduce->leave();
}

TEST(DeviceDeathTest, its_memory_is_really_closed) {
  const auto sink = silent_log_sink();
  EXPECT_DEATH(
      {
        const auto system = os::posix_system({.log_sink = sink.get()});
        MockDevice device(*system);
        *device.allocate(64).address() = std::byte{1};
      },
      "");
}

}  // namespace
}  // namespace edl::collective
