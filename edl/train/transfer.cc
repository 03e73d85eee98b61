#include "edl/train/transfer.h"

#include <algorithm>

#include "edl/checkpoint/state_hash.h"

namespace edl::train {
namespace {

constexpr std::size_t kClientsMax = 256;
// A joiner that does not take its records is given up: they would fill our memory.
constexpr std::size_t kRecordsWaitingMax = 64;
constexpr std::size_t kCopiesKept = 3;

}  // namespace

std::vector<checkpoint::Tensor> as_tensors(const std::vector<StateTensor>& tensors) {
  std::vector<checkpoint::Tensor> out;
  for (const StateTensor& tensor : tensors) {
    out.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
  }
  return out;
}

std::vector<checkpoint::TensorPlaceholder> places_of(const std::vector<StateTensor>& tensors) {
  std::vector<checkpoint::TensorPlaceholder> out;
  for (const StateTensor& one : tensors) out.push_back({one.name, one.dtype, one.shape, one.bytes});
  return out;
}

std::string state_layout(const std::vector<StateTensor>& tensors) {
  // The hash of a state whose tensors are all described by text.
  std::vector<std::string> texts;
  std::vector<checkpoint::Tensor> entries;
  for (const StateTensor& tensor : tensors) {
    std::string shape(checkpoint::dtype_name(tensor.dtype));
    for (const std::int64_t size : tensor.shape) shape += text(",", size);
    texts.push_back(std::move(shape));
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    entries.push_back({tensors[i].name,
                       checkpoint::Dtype::kU8,
                       {static_cast<std::int64_t>(texts[i].size())},
                       bytes_of(texts[i])});
  }
  const auto hash = checkpoint::state_hash(std::move(entries));
  EDL_CHECK(hash.ok(), hash.ok() ? "" : hash.error().message);
  return *hash;
}

std::shared_ptr<RecordCopy> RecordCopies::take(std::size_t bytes) {
  const auto free = std::find_if(kept_.begin(), kept_.end(),
                                 [](const auto& copy) { return copy.use_count() == 1; });
  const auto copy = free == kept_.end() ? std::make_shared<RecordCopy>() : *free;
  if (free == kept_.end() && kept_.size() < kCopiesKept) kept_.push_back(copy);
  if (copy->size != bytes) copy->numbers = zero_numbers(bytes);
  copy->size = bytes;
  return copy;
}

std::vector<std::shared_ptr<RecordCopy>> RecordCopies::keep(std::size_t count, std::size_t bytes) {
  kept_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    kept_.push_back(std::make_shared<RecordCopy>());
    kept_.back()->numbers = zero_numbers(bytes);
    kept_.back()->size = bytes;
  }
  return kept_;
}

std::shared_ptr<RecordCopy> Giver::copy_of(const model::StepRecordHeader& record,
                                           ConstBytes reduced) {
  const auto copy = copies_.take(reduced.size());
  copy->header = record;
  std::copy(reduced.begin(), reduced.end(), copy->numbers.get());
  return copy;
}

void Giver::send(const model::WorkerId& id, const Json& body) {
  mesh_.send(id, {.type = kTransferMessage}, body);
}

Result<void> Giver::on_message(const model::WorkerId& from, const Json& body) {
  JsonReader in(body, "transfer");
  std::string kind;
  std::uint64_t at = 0;
  std::uint64_t copy = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  in.read("kind", kind);
  in.read_optional(kind == "want_record" ? "step" : "at", at);
  in.read_optional("copy", copy);
  in.read_optional("from", begin);
  in.read_optional("to", end);
  EDL_TRY(in.finish());
  if (kind == "want_state") {
    if (clients_.size() >= kClientsMax) return {};
    clients_[from] = {.at = model::Step(at)};
    if (completed_.value() >= at || halted_) begin_copy(from);
    return {};
  }
  if (kind == "want_record") {
    const bool is_whole = record_ != nullptr && record_->step == model::Step(at);
    const bool is_copied = last_ && last_->header.step == model::Step(at);
    if (!is_whole && !is_copied) {
      send(from, {{"kind", "no_record"}, {"step", at}});
      return {};
    }
    if (!is_copied) last_ = copy_of(*record_, reduced_);
    send_record(from, last_);
    return {};
  }
  if (kind == "enough") {
    forget(from);
    return {};
  }
  const auto client = clients_.find(from);
  if (client == clients_.end() || client->second.number != copy || copy == 0) return {};
  if (kind == "want_bytes") {
    if (begin > end || end > client->second.copy->bytes) {
      return Error{Code::kInvalid, text("a range of a state from ", begin, " to ", end)};
    }
    send_range(from, begin, end);
  } else if (kind == "want_records") {
    client->second.wants_records = true;
    for (auto& record : std::exchange(client->second.waiting, {})) send_record(from, record);
    tell_stable(from);
  }
  return {};
}

void Giver::begin_copy(const model::WorkerId& id) {
  if (!copying_.insert(id).second) return;
  events_.serving();
  events_.copy_state([this, id](std::shared_ptr<checkpoint::StateCopy> state) {
    copying_.erase(id);
    const auto client = clients_.find(id);
    if (client == clients_.end() || state == nullptr) return;
    auto copy = std::make_shared<Copy>();
    for (const checkpoint::Tensor& tensor : state->tensors()) copy->bytes += tensor.bytes.size();
    copy->state = std::move(state);
    client->second.sent = copy->state->state().position.step;
    client->second.copy = std::move(copy);
    client->second.number = next_copy_++;
    offer(id);
  });
}

// Only what is stable may be given.
void Giver::offer(const model::WorkerId& id) {
  Client& client = clients_[id];
  if (!client.copy || client.told) return;
  const model::Step step = client.copy->state->state().position.step;
  if (step > stable_) return;
  client.told = true;
  events_.copy_ledger(step, [this, id, number = client.number](Bytes ledger) {
    const auto found = clients_.find(id);
    if (found == clients_.end() || found->second.number != number) return;
    auto copy = std::make_shared<Copy>(*found->second.copy);
    copy->ledger = std::move(ledger);
    copy->bytes += copy->ledger.size();
    found->second.copy = copy;
    send(id, {{"kind", "state"},
              {"copy", number},
              {"state", copy->state->state()},
              {"layout", layout_},
              {"bytes", copy->bytes},
              {"ledger_bytes", copy->ledger.size()}});
  });
}

void Giver::send_range(const model::WorkerId& id, std::uint64_t from, std::uint64_t to) {
  wire::Connection* const link = mesh_.connection(id);
  if (link == nullptr) return;
  const Client& client = clients_[id];
  const std::shared_ptr<const Copy> copy = client.copy;
  std::uint64_t begins = 0;
  const auto give = [&](ConstBytes bytes) {
    const std::uint64_t low = std::max(from, begins);
    const std::uint64_t high = std::min<std::uint64_t>(to, begins + bytes.size());
    for (std::uint64_t at = low; at < high; at += kPieceBytes) {
      const std::uint64_t length = std::min(kPieceBytes, high - at);
      const auto sent = link->send_bulk({.type = kStateBytes, .first = at, .second = client.number},
                                        bytes.subspan(at - begins, length), [copy] {});
      if (!sent.ok()) return;
    }
    begins += bytes.size();
  };
  for (const checkpoint::Tensor& tensor : copy->state->tensors()) give(tensor.bytes);
  give(copy->ledger);
}

void Giver::send_record(const model::WorkerId& id, std::shared_ptr<const RecordCopy> record) {
  send_header(id, record->header, record->size);
  send_bytes(id, std::move(record));
}

void Giver::send_header(const model::WorkerId& id, const model::StepRecordHeader& header,
                        std::size_t bytes) {
  send(id, {{"kind", "record"}, {"header", header}, {"bytes", bytes}});
}

void Giver::send_bytes(const model::WorkerId& id, std::shared_ptr<const RecordCopy> record) {
  wire::Connection* const link = mesh_.connection(id);
  if (link == nullptr) return;
  const ConstBytes bytes = record->reduced();
  for (std::uint64_t at = 0; at < bytes.size(); at += kPieceBytes) {
    const std::uint64_t length = std::min<std::uint64_t>(kPieceBytes, bytes.size() - at);
    const auto sent =
        link->send_bulk({.type = kRecordBytes, .first = record->header.step.value(), .second = at},
                        bytes.subspan(at, length), [record] {});
    if (!sent.ok()) return;
  }
}

// Who only waits for records gets the bytes while they are applied here.
void Giver::on_reduced(const model::StepRecordHeader& record, ConstBytes reduced) {
  for (auto& [id, client] : clients_) {
    if (!client.wants_records || record.step <= client.sent) continue;
    if (!last_ || last_->header.step != record.step) last_ = copy_of(record, reduced);
    client.sent = client.headless = record.step;
    send_bytes(id, last_);
  }
}

void Giver::on_completed(const model::StepRecordHeader& record, ConstBytes reduced) {
  completed_ = record.step;
  record_ = &record;
  reduced_ = reduced;
  if (last_ && last_->header.step == record.step) {
    last_->header = record;
  } else {
    last_.reset();
  }
  std::vector<model::WorkerId> ready;
  for (auto& [id, client] : clients_) {
    if (!client.copy) {
      if (record.step >= client.at) ready.push_back(id);
      continue;
    }
    if (client.headless == record.step) send_header(id, record, reduced.size());
    if (record.step <= client.sent) continue;
    client.sent = record.step;
    if (!last_) last_ = copy_of(record, reduced);
    client.waiting.push_back(last_);
    if (!client.wants_records && client.waiting.size() <= kRecordsWaitingMax) continue;
    for (auto& waiting : std::exchange(client.waiting, {})) send_record(id, waiting);
  }
  for (const model::WorkerId& id : ready) begin_copy(id);
}

void Giver::on_stable(model::Step step) {
  if (step <= stable_) return;
  stable_ = step;
  std::vector<model::WorkerId> ids;
  for (const auto& [id, client] : clients_) ids.push_back(id);
  for (const model::WorkerId& id : ids) {
    offer(id);
    if (clients_[id].wants_records) tell_stable(id);
  }
}

void Giver::set_halted(bool halted) {
  halted_ = halted;
  if (!halted) return;
  std::vector<model::WorkerId> waiting;
  for (const auto& [id, client] : clients_) {
    if (!client.copy) waiting.push_back(id);
  }
  for (const model::WorkerId& id : waiting) begin_copy(id);
}

void Giver::tell_stable(const model::WorkerId& id) {
  send(id, {{"kind", "stable"}, {"step", stable_}});
}

void Giver::forget(const model::WorkerId& id) {
  clients_.erase(id);
  copying_.erase(id);
  if (clients_.empty()) copies_.clear();
}

void Giver::forget_all() {
  clients_.clear();
  copying_.clear();
  record_ = nullptr;
  halted_ = false;
  last_.reset();
  copies_.clear();
  completed_ = {};
  stable_ = {};
}

}  // namespace edl::train
