#include "bench/allreduce/member.h"

#include <filesystem>
#include <fstream>

#include "bench/allreduce/numbers.h"
#include "edl/base/text.h"

namespace edl::bench {
namespace {

using collective::AllReduce;
using collective::Buffer;
using collective::Element;
using model::Rank;
using model::Step;

constexpr Duration kBeat = 50ms;  // of a training worker with its leader

// Sums without the hashes of their blocks. For types that are not rounded.
class Unhashed final : public collective::Adder {
 public:
  explicit Unhashed(collective::HostAdder& host) : host_(host) {}
  Buffer room(std::uint64_t bytes) override { return host_.room(bytes); }
  void copy_in(ConstBytes from, const Buffer& to) override { host_.copy_in(from, to); }
  ByteSpan host_place(const Buffer& to) override { return host_.host_place(to); }
  void add(Element element, const Buffer& left, const Buffer& right, const Buffer& sum) override {
    host_.add(element, left, right, sum);
  }
  void add_left(Element element, ConstBytes left, const Buffer& right, const Buffer& sum) override {
    host_.add_left(element, left, right, sum);
  }
  void add_right(Element element, const Buffer& left, ConstBytes right,
                 const Buffer& sum) override {
    host_.add_right(element, left, right, sum);
  }
  void finish(Element element, const Buffer& sums, const Buffer& reduced,
              std::span<collective::BlockHash> /*hashes*/) override {
    EDL_CHECK(collective::sum_element(element) == element);
    host_.copy_in({sums.address(), sums.bytes()}, reduced);
  }
  void then(std::function<void()> done) override { done(); }

 private:
  collective::HostAdder& host_;
};

}  // namespace

Member::Member(Place place)
    : place_(std::move(place)),
      endpoint_(*system_, {.job = "bench",
                           .id = std::to_string(place_.rank),
                           .secret = wire::Secret::make(bytes_of("sixteen bytes...")).value(),
                           .connection = {.held_bytes_max = std::uint64_t{1} << 30}}),
      connections_(place_.procs),
      links_(place_.procs),
      unhashed_(std::make_unique<Unhashed>(adder_)) {
  const auto address =
      endpoint_.listen(address_at(place_.rank, 0), [this](auto made) { take(std::move(made)); });
  tell_port(address.value().port);
  for (std::uint32_t i = 0; i < place_.rank; ++i) {
    attempts_.push_back(endpoint_.connect(address_at(i, port_of(i)), 10s,
                                          [this](auto made) { take(std::move(made).value()); }));
  }
  while (connected_ + 1 < place_.procs) system_->run();
}

double Member::run(const Command& command, const Extras& extras) {
  collective::Adder& hashed = adder_;
  enter(command.number / sizeof(float), place_.procs, extras.hashes ? hashed : *unhashed_);
  if (extras.beats) beat();
  const double took = measure(command.rounds, [&] {
    reduce();
    if (extras.each_step) extras.each_step(Step(step_.value() - 1), digest_);
  });
  beating_.cancel();
  wait_for_all();
  return took;
}

std::string Member::digest(std::uint32_t logical) {
  enter(kDigestNumbers, logical, adder_);
  reduce();
  wait_for_all();
  return hex(digest_);
}

void Member::beat() {
  for (const auto& connection : connections_) {
    if (connection) connection->ping();
  }
  beating_ = system_->after(kBeat, [this] { beat(); });
}

os::Address Member::address_at(std::uint32_t rank, std::uint16_t port) const {
  if (place_.is_unix) return {{}, 0, text(place_.folder, "/", rank, ".socket")};
  return {"127.0.0.1", port, {}};
}

void Member::tell_port(std::uint16_t port) const {
  const std::string path = text(place_.folder, "/", own_);
  std::ofstream(path + ".new") << port;
  std::filesystem::rename(path + ".new", path);
}

std::uint16_t Member::port_of(std::uint32_t rank) {
  const std::string path = text(place_.folder, "/", rank);
  while (!std::filesystem::exists(path)) {
    const os::Pending look = system_->after(1ms, [this] { system_->finish(0); });
    system_->run();
  }
  std::uint16_t port = 0;
  std::ifstream(path) >> port;
  return port;
}

void Member::take(std::unique_ptr<wire::Connection> made) {
  const Rank from(static_cast<std::uint32_t>(std::stoul(made->peer_id())));
  made->receive_bulk(
      [this, from](const wire::Header& header, std::uint64_t offset, ConstBytes piece) {
        const auto taken = header.type == collective::kPart
                               ? exchange_.on_bulk(from, header, offset, piece)
                               : all_reduce_->on_bulk(from, header, offset, piece);
        EDL_CHECK(taken.ok(), taken.error().message);
      },
      [this, from](const wire::Header& header, std::uint64_t offset) {
        return all_reduce_->bulk_place(from, header, offset);
      });
  made->start([](wire::Frame) {}, [](const Error&) {});
  links_[from.value()] = std::make_unique<collective::ConnectionLink>(*made);
  connections_[from.value()] = std::move(made);
  if (++connected_ == place_.procs - 1) system_->finish(0);
}

// A view of its own for each command: `logical` logical workers in runs.
void Member::enter(std::uint64_t count, std::uint32_t logical, collective::Adder& adder) {
  layout_ = std::make_unique<collective::Layout>(
      std::vector<collective::Segment>{{collective::Element::kF32, count}});
  reduced_ = Bytes(layout_->reduced_bytes());
  all_reduce_ = std::make_unique<AllReduce>(
      *layout_, adder, Buffer(ByteSpan(reduced_)),
      collective::AllReduceEvents{.first_reduced = {},
                                  .reduced =
                                      [this](Step, const model::Digest& digest) {
                                        digest_ = digest;
                                        is_reduced_ = true;
                                        system_->finish(0);
                                      },
                                  .failed = {}});
  view_ = model::View();
  view_.generation = model::Generation(++generation_);
  view_.first_step = step_ = Step(1);
  view_.members.resize(place_.procs);
  for (std::uint32_t v = 0; v < logical; ++v) {
    view_.members[v * place_.procs / logical].logical.emplace_back(v);
  }
  std::vector<collective::Link*> links;
  for (const auto& link : links_) links.push_back(link.get());
  sums_.clear();
  for (const auto& node : model::cover(view_.members[own_.value()].logical, logical)) {
    sums_.push_back(node_numbers(count, node));
    sums_.back().resize(layout_->sum_bytes());
  }
  all_reduce_->enter(view_, own_, links);
  exchange_.enter(view_, own_, links);
  for (auto& connection : connections_) {
    if (connection) connection->enter(view_.generation);
  }
}

void Member::reduce() {
  is_reduced_ = false;
  all_reduce_->begin(step_, view_.logical_workers());
  const auto nodes = all_reduce_->own_nodes();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto done = all_reduce_->contribute(nodes[i], Buffer(ByteSpan(sums_[i])));
    EDL_CHECK(done.ok());
  }
  while (!is_reduced_) system_->run();  // it also returns for what was done outside of it
  step_ = step_.next();
}

// The loop stands still between commands: nobody may wait for what has not left it.
void Member::wait_for_all() {
  os::Pending pause;
  bool is_over = false;
  exchange_.barrier([&] {
    pause = system_->after(5ms, [&] {
      is_over = true;
      system_->finish(0);
    });
  });
  while (!is_over) system_->run();
}

}  // namespace edl::bench
