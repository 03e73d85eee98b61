#include "edl/data/verify.h"

#include <algorithm>
#include <map>

#include "edl/base/text.h"
#include "edl/data/ledger.h"

namespace edl::data {
namespace {

using model::LedgerRecord;
using model::Step;

constexpr std::size_t kViolationsMax = 100;  // that are told; all are counted

class Verifier {
 public:
  explicit Verifier(std::uint64_t samples) : samples_(samples) {}

  // Follows one member's lines: each must continue or replace, and be chained.
  void read(const LedgerLines& lines) {
    Ledger ledger;
    for (const LedgerRecord& line : lines) {
      if (const auto added = ledger.append_chained(line); !added.ok()) {
        return violate(ViolationKind::kBrokenChain, line.step, added.error().message);
      }
    }
    for (const LedgerRecord& record : ledger.records()) keep(record);
  }

  Verification finish() {
    walk();
    out_.steps = steps_.size();
    return std::move(out_);
  }

 private:
  void violate(ViolationKind kind, Step step, std::string detail) {
    if (out_.violations.size() < kViolationsMax) {
      out_.violations.push_back({kind, step, std::move(detail)});
    }
  }

  void keep(const LedgerRecord& record) {
    const auto [at, added] = steps_.emplace(record.step.value(), record);
    if (added) return;
    LedgerRecord& known = at->second;
    if (record.generation > known.generation) {
      known = record;
    } else if (record.generation == known.generation && !same_step(record, known)) {
      ++out_.conflicting;
      violate(ViolationKind::kConflictingStep, record.step,
              text("two members have different records of step ", record.step.value(),
                   " in generation ", record.generation.value()));
    }
  }

  static bool same_step(const LedgerRecord& a, const LedgerRecord& b) {
    return a.epoch == b.epoch && a.position == b.position && a.samples == b.samples &&
           a.applied == b.applied && a.digest == b.digest;
  }

  // Positions must follow each other without hole or overlap, epoch after epoch.
  void walk() {
    std::uint64_t epoch = 0;
    std::uint64_t position = 0;
    std::uint64_t step = 0;
    for (const auto& [number, record] : steps_) {
      if (number != ++step) {
        violate(ViolationKind::kMissingSample, Step(step), text("step ", step, " is missing"));
        step = number;
      }
      look(record, epoch, position);
      out_.samples += record.samples;
      epoch = record.epoch.value();
      position = record.position + record.samples;
      if (position >= samples_) {
        ++out_.epochs;
        ++epoch;
        position = 0;
      }
    }
  }

  void look(const LedgerRecord& record, std::uint64_t epoch, std::uint64_t position) {
    if (record.position + record.samples > samples_) {
      out_.repeated += record.position + record.samples - samples_;
      violate(ViolationKind::kRepeatedSample, record.step,
              text("step ", record.step.value(), " goes beyond the end of its epoch"));
    }
    const bool later = record.epoch.value() > epoch ||
                       (record.epoch.value() == epoch && record.position > position);
    const bool same = record.epoch.value() == epoch && record.position == position;
    if (same) return;
    const std::uint64_t from = record.epoch.value() * samples_ + record.position;
    const std::uint64_t expected = epoch * samples_ + position;
    (later ? out_.missing : out_.repeated) += later ? from - expected : expected - from;
    violate(later ? ViolationKind::kMissingSample : ViolationKind::kRepeatedSample, record.step,
            text("step ", record.step.value(), " begins at position ", record.position,
                 " of epoch ", record.epoch.value(), " instead of ", position, " of ", epoch));
  }

  const std::uint64_t samples_;
  std::map<std::uint64_t, LedgerRecord> steps_;
  Verification out_;
};

}  // namespace

std::string_view name(ViolationKind kind) {
  constexpr std::string_view kNames[] = {"missing_sample", "repeated_sample", "conflicting_step",
                                         "broken_chain", "unreadable"};
  return kNames[static_cast<std::size_t>(kind)];
}

Verification verify(std::span<const LedgerLines> ledgers, std::uint64_t samples) {
  Verifier verifier(samples);
  for (const LedgerLines& lines : ledgers) verifier.read(lines);
  return verifier.finish();
}

}  // namespace edl::data
