#include "edl/train/joiner.h"

#include <algorithm>
#include <cstring>

#include "edl/collective/digest.h"

namespace edl::train {
namespace {

constexpr std::size_t kRecordsMax = 1024;

std::vector<StateTensor> by_name(std::vector<StateTensor> tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const StateTensor& a, const StateTensor& b) { return a.name < b.name; });
  return tensors;
}

}  // namespace

Joiner::Joiner(membership::Mesh& mesh, std::vector<StateTensor> tensors,
               std::uint64_t reduced_bytes, JoinerEvents events)
    : mesh_(mesh),
      tensors_(by_name(std::move(tensors))),
      layout_(state_layout(tensors_)),
      reduced_bytes_(reduced_bytes),
      events_(std::move(events)) {}

void Joiner::send(const model::WorkerId& id, const Json& body) {
  mesh_.send(id, {.type = kTransferMessage}, body);
}

void Joiner::start(const std::vector<model::WorkerId>& givers, model::Step at) {
  forget();
  joining_ = true;
  for (const model::WorkerId& id : givers) {
    if (asked_.size() == kGiversMax) break;
    if (mesh_.connection(id) == nullptr) continue;
    asked_.insert(id);
    send(id, {{"kind", "want_state"}, {"at", at}});
  }
  if (asked_.empty()) fail("no member that could give the state is reached");
}

void Joiner::cancel() {
  forget();
  copies_.clear();
}

void Joiner::forget() {
  for (const model::WorkerId& id : asked_) send(id, {{"kind", "enough"}});
  joining_ = false;
  loaded_ = false;
  asked_.clear();
  state_.reset();
  ledger_.clear();
  sources_.clear();
  records_from_.clear();
  missing_.clear();
  received_ = 0;
  records_.clear();
  stable_ = {};
  demanded_ = {};
}

void Joiner::fail(const std::string& reason) {
  if (!joining_) return;
  cancel();
  events_.failed(reason);
}

Result<void> Joiner::on_message(const model::WorkerId& from, const Json& body) {
  JsonReader in(body, "transfer");
  std::string kind;
  model::Step step;
  in.read("kind", kind);
  in.read_optional("step", step);
  EDL_TRY(in.finish());
  if (kind == "state") return on_state(from, body);
  if (kind == "record") return on_record(from, body);
  if (kind == "stable" && from == records_from_) {
    stable_ = std::max(stable_, step);
    apply_next();
  }
  return {};
}

// The first copy that is offered decides for which step the others must have theirs.
Result<void> Joiner::on_state(const model::WorkerId& from, const Json& body) {
  if (!joining_ || loaded_ || !asked_.contains(from)) return {};
  JsonReader in(body, "state");
  std::uint64_t copy = 0;
  std::uint64_t bytes = 0;
  std::uint64_t ledger_bytes = 0;
  std::string layout;
  checkpoint::State state;
  in.read("copy", copy);
  in.read("bytes", bytes);
  in.read("ledger_bytes", ledger_bytes);
  in.read("layout", layout);
  in.read_with("state", state, checkpoint::state_from);
  EDL_TRY(in.finish());
  if (layout != layout_) {
    fail(text("the state of ", from,
              " is of another model: its tensors have other names, types or shapes"));
    return {};
  }
  std::uint64_t own = 0;
  for (const StateTensor& tensor : tensors_) own += tensor.bytes.size();
  if (ledger_bytes > kLedgerBytesMax || bytes != own + ledger_bytes) {
    return Error{Code::kInvalid, text("a state of ", bytes, " bytes; ours has ", own)};
  }
  if (!state_) {
    state_ = state;
    bytes_ = bytes;
    ledger_.resize(ledger_bytes);
    records_from_ = from;
    for (std::uint64_t at = 0; at < bytes; at += kRangeBytes) {
      missing_.push_back({at, std::min(bytes, at + kRangeBytes), 0});
    }
    std::reverse(missing_.begin(), missing_.end());
  } else if (state.position != state_->position || bytes != bytes_) {
    send(from, {{"kind", "enough"}});
    return {};
  }
  sources_[from] = {.copy = copy};
  ask_ranges();
  return {};
}

void Joiner::ask_ranges() {
  for (auto& [id, source] : sources_) {
    if (source.asked || missing_.empty()) continue;
    source.asked = missing_.back();
    missing_.pop_back();
    send(id, {{"kind", "want_bytes"},
              {"copy", source.copy},
              {"from", source.asked->from},
              {"to", source.asked->to}});
  }
}

Result<void> Joiner::on_bulk(const model::WorkerId& from, const wire::Header& header,
                             std::uint64_t offset, ConstBytes piece) {
  if (header.type == kRecordBytes) return on_record_bytes(from, header, offset, piece);
  const auto source = sources_.find(from);
  if (header.type != kStateBytes || source == sources_.end() || !source->second.asked ||
      header.second != source->second.copy) {
    return {};
  }
  Range& range = *source->second.asked;
  const std::uint64_t at = header.first + offset;
  if (at != range.from + range.filled || piece.size() > range.to - at) {
    return Error{Code::kInvalid, "bytes of a state that were not asked for"};
  }
  place(at, piece);
  range.filled += piece.size();
  received_ += piece.size();
  if (range.from + range.filled < range.to) return {};
  source->second.asked.reset();
  if (received_ == bytes_) {
    finish_state();
  } else {
    ask_ranges();
  }
  return {};
}

Result<void> Joiner::on_record_bytes(const model::WorkerId& from, const wire::Header& header,
                                     std::uint64_t offset, ConstBytes piece) {
  if (!is_giver(from)) return {};
  Coming* const one = coming(from, model::Step(header.first));
  if (one == nullptr || one->from != from || one->filled == reduced_bytes_) return {};
  const std::uint64_t at = header.second + offset;
  if (at != one->filled || piece.size() > reduced_bytes_ - at) return {};
  std::memcpy(one->record->numbers.get() + at, piece.data(), piece.size());
  one->filled += piece.size();
  if (one->filled == reduced_bytes_) apply_next();
  return {};
}

// The record of this step as far as it is here, of whomever; null when nobody wants it.
Joiner::Coming* Joiner::coming(const model::WorkerId& from, model::Step step) {
  const auto known = records_.find(step);
  if (known != records_.end()) return &known->second;
  if (step <= here_ && (loaded_ || !joining_)) return nullptr;
  if (!joining_ && step > demanded_) return nullptr;
  if (records_.size() >= kRecordsMax) {
    fail("it does not keep up with the others");
    return nullptr;
  }
  return &(records_[step] = {.from = from, .record = copies_.take(reduced_bytes_)});
}

void Joiner::place(std::uint64_t at, ConstBytes piece) {
  std::uint64_t begins = 0;
  const auto put = [&](ByteSpan into) {
    const std::uint64_t low = std::max(at, begins);
    const std::uint64_t high = std::min<std::uint64_t>(at + piece.size(), begins + into.size());
    if (low < high)
      std::memcpy(into.data() + (low - begins), piece.data() + (low - at), high - low);
    begins += into.size();
  };
  for (const StateTensor& tensor : tensors_) put(tensor.bytes);
  put(ledger_);
}

// Records come only now: steps may make them faster than a link carries them, and the state would
// wait behind them all.
void Joiner::finish_state() {
  send(records_from_, {{"kind", "want_records"}, {"copy", sources_[records_from_].copy}});
  for (const auto& [id, source] : sources_) {
    if (id != records_from_) send(id, {{"kind", "enough"}});
  }
  sources_.clear();
  asked_ = {records_from_};
  loaded_ = true;
  here_ = state_->position.step;
  applying_ = true;  // until `applied` says that the state is in use
  events_.loaded(*state_, std::move(ledger_));
}

// Another one's record of the same step may be of a view that has ended.
bool Joiner::is_giver(const model::WorkerId& id) const {
  return (joining_ && id == records_from_) || (demanded_ != model::Step() && id == demanded_from_);
}

Result<void> Joiner::on_record(const model::WorkerId& from, const Json& body) {
  if (!is_giver(from)) return {};
  JsonReader in(body, "record");
  model::StepRecordHeader header;
  std::uint64_t bytes = 0;
  in.read_with("header", header, model::step_record_from);
  in.read("bytes", bytes);
  EDL_TRY(in.finish());
  if (bytes != reduced_bytes_) {
    return Error{Code::kInvalid, text("a record of ", bytes, " bytes; ours have ", reduced_bytes_)};
  }
  // Asked for again while it was on its way, the bytes that are here stay here.
  Coming* const one = coming(from, header.step);
  if (one == nullptr) return {};
  const bool is_same_view = !one->has_header || one->record->header.generation == header.generation;
  if (one->from != from || !is_same_view) one->filled = 0;
  one->from = from;
  one->has_header = true;
  one->record->header = std::move(header);
  apply_next();
  return {};
}

void Joiner::take_record(const model::WorkerId& from, model::Step step, model::Step here) {
  if (!joining_) {
    here_ = here;
    applying_ = false;
    records_.erase(records_.begin(), records_.upper_bound(here));
  }
  const bool is_on_its_way = records_.contains(step) && is_giver(from);
  demanded_ = std::max(demanded_, step);
  demanded_from_ = from;
  if (!is_on_its_way) send(from, {{"kind", "want_record"}, {"step", step}});
  apply_next();
}

void Joiner::drop_record() {
  demanded_ = {};
  if (!joining_) records_.clear();
  apply_next();
}

void Joiner::applied(model::Step step) {
  here_ = step;
  applying_ = false;
  records_.erase(records_.begin(), records_.upper_bound(step));
  apply_next();
}

// A record is applied only when all members have its step, or when the leader says so.
void Joiner::apply_next() {
  if (applying_ || (joining_ && !loaded_)) return;
  const auto next = records_.find(here_.next());
  if (next == records_.end() || next->second.filled < reduced_bytes_) return;
  if (!next->second.has_header) return;
  const bool is_wanted = next->first <= stable_ && !events_.holds_still();
  if (!is_wanted && next->first > demanded_) return;
  const std::shared_ptr<RecordCopy> record = next->second.record;
  applying_ = true;
  events_.apply(*record);
}

void Joiner::on_link_lost(const model::WorkerId& id) {
  if (is_giver(id)) {  // what was on its way does not come any more
    std::erase_if(records_, [&](const auto& one) {
      return one.second.filled < reduced_bytes_ || !one.second.has_header;
    });
  }
  if (!joining_ || !asked_.contains(id)) return;
  asked_.erase(id);
  if (id == records_from_) return fail(text("lost ", id, ", which gave the records"));
  const auto source = sources_.find(id);
  if (source == sources_.end()) {
    if (asked_.empty()) fail("lost all members that were asked for the state");
    return;
  }
  if (source->second.asked) {
    Range again = *source->second.asked;
    again.from += again.filled;
    again.filled = 0;
    if (again.from < again.to) missing_.push_back(again);
  }
  sources_.erase(source);
  ask_ranges();
}

}  // namespace edl::train
