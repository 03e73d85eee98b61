// Small bytes between all members of a view: gather, broadcast and barrier over the same links as
// the sums. Every member asks for the same exchanges in the same order, one at a time; that they
// are the same is checked. For what is small: bytes are copied and held in memory.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "edl/collective/link.h"
#include "edl/collective/messages.h"
#include "edl/model/view.h"

namespace edl::collective {

class Exchange {
 public:
  // `failed` is told of a link that takes nothing any more; it may call `leave`.
  using Failed = std::function<void(model::Rank, const Error&)>;
  using Gathered = std::function<void(std::vector<Bytes>)>;
  using Received = std::function<void(Bytes)>;

  static constexpr std::uint64_t kPartBytesMax = 16 << 20;
  static constexpr std::size_t kEarlyMax = 64;  // parts of a member for exchanges not asked for yet

  explicit Exchange(Failed failed) : failed_(std::move(failed)) {}

  // As AllReduce has them.
  void enter(const model::View& view, model::Rank own, std::vector<Link*> links);
  void leave();

  // Answers may come inside the call, as its last act, and may ask for the next exchange.
  // Everybody's bytes, by rank.
  void gather(Bytes own, Gathered done);
  // What rank `from` gave, to all; the bytes of others are not looked at.
  void broadcast(model::Rank from, Bytes bytes, Received done);
  // When everybody has asked for it.
  void barrier(std::function<void()> done);

  // Bulk data of the type kPart. An error is a violation of the protocol by `from`.
  Result<void> on_bulk(model::Rank from, const wire::Header& header, std::uint64_t offset,
                       ConstBytes piece);

 private:
  enum class Kind : std::uint64_t { kGather = 1, kBroadcast = 2, kBarrier = 3 };
  struct Part {
    std::uint64_t number = 0;
    Kind kind = Kind::kGather;
    Bytes bytes;
    bool is_whole = false;
  };

  void ask(Kind kind, Bytes own, Gathered done);
  void send(const std::shared_ptr<const Bytes>& bytes);
  bool awaits(model::Rank rank) const;
  Result<void> check_front(model::Rank from) const;
  void settle();

  const Failed failed_;
  bool is_entered_ = false;
  model::Generation generation_;
  model::Rank own_;
  std::vector<Link*> links_;
  std::vector<std::deque<Part>> came_;  // by rank, in the order of their numbers

  std::uint64_t number_ = 0;  // of the exchange asked for last
  bool is_asked_ = false;
  Kind kind_ = Kind::kGather;
  model::Rank root_;  // of a broadcast
  std::shared_ptr<const Bytes> given_;
  Gathered done_;
};

}  // namespace edl::collective
