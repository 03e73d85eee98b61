#include "edl/data/verify.h"

#include <algorithm>
#include <limits>

#include "edl/base/text.h"

namespace edl::data {
namespace {

using model::LedgerRecord;
using model::Step;

constexpr std::size_t kViolationsMax = 100;  // that are told; all are counted

// How many positions lie between two places, cut to what fits.
std::uint64_t distance(std::uint64_t epochs, std::uint64_t samples, std::uint64_t more) {
  const auto wide = static_cast<unsigned __int128>(epochs) * samples + more;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return wide > kMost ? kMost : static_cast<std::uint64_t>(wide);
}

}  // namespace

std::string_view name(ViolationKind kind) {
  constexpr std::string_view kNames[] = {"missing_sample", "repeated_sample", "conflicting_step",
                                         "broken_chain", "unreadable"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(Verdict verdict) {
  constexpr std::string_view kNames[] = {"proven", "violated", "incomplete"};
  return kNames[static_cast<std::size_t>(verdict)];
}

void Verifier::violate(ViolationKind kind, Step step, std::string detail) {
  violated_ = true;
  if (out_.violations.size() == kViolationsMax) return;
  out_.violations.push_back({kind, step, std::move(detail)});
}

void Verifier::lacks(std::string reason) {
  if (out_.reason.empty()) out_.reason = std::move(reason);
}

void Verifier::close() {
  history_ = merge_.finish();
  for (const StepProblem& problem : merge_.broken()) {
    violate(ViolationKind::kBrokenChain, problem.step, problem.detail);
  }
  for (const StepProblem& problem : merge_.conflicting()) {
    violate(ViolationKind::kConflictingStep, problem.step, problem.detail);
  }
  out_.conflicting += merge_.conflicts();
  Place expected;
  for (const LedgerRecord& record : history_) expected = walk(record, expected);
  out_.steps = history_.size();
}

// Positions must follow each other without hole or overlap, epoch after epoch. Answers where the
// next step must begin.
Verifier::Place Verifier::walk(const LedgerRecord& record, Place expected) {
  if (record.epoch.value() != expected.epoch || record.position != expected.position) {
    misplaced(record, expected);
  }
  out_.samples += record.samples;
  const std::uint64_t left = samples_ - std::min(samples_, record.position);
  if (record.samples < left) return {record.epoch.value(), record.position + record.samples};
  if (record.samples > left) {
    out_.repeated += record.samples - left;
    violate(ViolationKind::kRepeatedSample, record.step,
            text("step ", record.step, " goes beyond the end of its epoch"));
  }
  ++out_.epochs;
  return {record.epoch.value() + 1, 0};
}

void Verifier::misplaced(const LedgerRecord& record, Place expected) {
  const std::uint64_t epoch = record.epoch.value();
  const bool later =
      epoch > expected.epoch || (epoch == expected.epoch && record.position > expected.position);
  if (later) {
    const std::uint64_t skipped = distance(epoch - expected.epoch, samples_, record.position);
    out_.missing += skipped - std::min(skipped, expected.position);
  } else {
    const std::uint64_t again = distance(expected.epoch - epoch, samples_, expected.position);
    out_.repeated += again - std::min(again, record.position);
  }
  violate(later ? ViolationKind::kMissingSample : ViolationKind::kRepeatedSample, record.step,
          text("step ", record.step, " begins at position ", record.position, " of epoch ", epoch,
               " instead of ", expected.position, " of ", expected.epoch));
}

Verification Verifier::finish() {
  if (out_.steps == 0) lacks("no step is in the ledgers");
  out_.verdict = out_.reason.empty() ? Verdict::kProven : Verdict::kIncomplete;
  if (violated_) out_.verdict = Verdict::kViolated;
  return std::move(out_);
}

Verification verify(std::span<const LedgerLines> ledgers, const model::SampleCount& samples) {
  Verifier verifier(samples);
  for (const LedgerLines& lines : ledgers) verifier.add(lines);
  verifier.close();
  return verifier.finish();
}

}  // namespace edl::data
