#include "edl/collective/exchange.h"

#include <utility>

#include "edl/base/text.h"

namespace edl::collective {

using model::Rank;

void Exchange::enter(const model::View& view, Rank own, std::vector<Link*> links) {
  leave();
  EDL_CHECK(links.size() == view.members.size() && own.value() < links.size());
  is_entered_ = true;
  generation_ = view.generation;
  own_ = own;
  links_ = std::move(links);
  came_.assign(links_.size(), {});
  number_ = 0;
}

void Exchange::leave() {
  for (Link* link : links_) {
    if (link != nullptr) link->drop(generation_);
  }
  links_.clear();
  came_.clear();
  is_entered_ = is_asked_ = false;
  done_ = nullptr;
}

void Exchange::gather(Bytes own, Gathered done) { ask(Kind::kGather, std::move(own), done); }

void Exchange::broadcast(Rank from, Bytes bytes, Received done) {
  root_ = from;
  ask(Kind::kBroadcast, std::move(bytes), [from, done = std::move(done)](std::vector<Bytes> all) {
    done(std::move(all[from.value()]));
  });
}

void Exchange::barrier(std::function<void()> done) {
  ask(Kind::kBarrier, {}, [done = std::move(done)](const std::vector<Bytes>&) { done(); });
}

void Exchange::ask(Kind kind, Bytes own, Gathered done) {
  EDL_CHECK(is_entered_ && !is_asked_, "one exchange at a time");
  EDL_CHECK(own.size() <= kPartBytesMax);
  ++number_;
  is_asked_ = true;
  kind_ = kind;
  given_ = std::make_shared<const Bytes>(std::move(own));
  done_ = std::move(done);
  if (kind != Kind::kBroadcast || root_ == own_) {
    send(given_);
    if (!is_entered_) return;  // a link failed
  }
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const auto right = check_front(Rank(i));
    if (!right.ok()) return failed_(Rank(i), right.error());
  }
  settle();
}

// What is on its way holds the bytes, so they outlive this exchange, and this object.
void Exchange::send(const std::shared_ptr<const Bytes>& bytes) {
  const wire::MessageHead head{.type = kPart,
                               .generation = generation_,
                               .first = number_,
                               .second = static_cast<std::uint64_t>(kind_)};
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    if (links_[i] == nullptr) continue;
    const auto posted = links_[i]->post_host(head, *bytes, [bytes] {});
    links_[i]->flush();
    if (!posted.ok()) return failed_(Rank(i), posted.error());
  }
}

Result<void> Exchange::on_bulk(Rank from, const wire::Header& header, std::uint64_t offset,
                               ConstBytes piece) {
  if (!is_entered_ || header.generation != generation_) return {};
  EDL_CHECK(from.value() < came_.size() && from != own_);
  std::deque<Part>& parts = came_[from.value()];
  if (offset == 0) {
    const std::uint64_t least =
        parts.empty() ? number_ + (is_asked_ ? 0 : 1) : parts.back().number + 1;
    if (header.payload_bytes > kPartBytesMax || parts.size() >= kEarlyMax || header.first < least) {
      return Error{Code::kInvalid, text("rank ", from, " sent a part of ", header.payload_bytes,
                                        " bytes of exchange ", header.first, ", this is ", number_,
                                        " and ", parts.size(), " of it wait")};
    }
    parts.push_back({header.first, static_cast<Kind>(header.second), {}, false});
  }
  Part& part = parts.back();
  part.bytes.insert(part.bytes.end(), piece.begin(), piece.end());
  part.is_whole = part.bytes.size() == header.payload_bytes;
  if (!is_asked_) return {};
  EDL_TRY(check_front(from));
  settle();
  return {};
}

bool Exchange::awaits(Rank rank) const {
  return rank != own_ && (kind_ != Kind::kBroadcast || rank == root_);
}

// What comes next from a member must be its part of this exchange, when it has one.
Result<void> Exchange::check_front(Rank from) const {
  if (came_[from.value()].empty()) return {};
  const Part& front = came_[from.value()].front();
  const bool is_right =
      awaits(from) ? front.number == number_ && front.kind == kind_ : front.number > number_;
  if (is_right) return {};
  return Error{Code::kInvalid, text("rank ", from, " is in exchange ", front.number, " of kind ",
                                    static_cast<std::uint64_t>(front.kind), ", this is ", number_,
                                    " of kind ", static_cast<std::uint64_t>(kind_))};
}

void Exchange::settle() {
  for (std::uint32_t i = 0; i < came_.size(); ++i) {
    if (awaits(Rank(i)) && (came_[i].empty() || !came_[i].front().is_whole)) return;
  }
  std::vector<Bytes> all(came_.size());
  for (std::uint32_t i = 0; i < came_.size(); ++i) {
    if (!awaits(Rank(i))) continue;
    all[i] = std::move(came_[i].front().bytes);
    came_[i].pop_front();
  }
  all[own_.value()] = *given_;
  is_asked_ = false;
  const Gathered done = std::exchange(done_, nullptr);
  done(std::move(all));
}

}  // namespace edl::collective
