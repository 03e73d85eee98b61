#include "edl/model/fault.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

#include "edl/model/words.h"

namespace edl::model {
namespace {

constexpr std::array<std::string_view, 15> kPhases{"data",
                                                   "compute",
                                                   "reduce",
                                                   "gather",
                                                   "apply",
                                                   "ledger",
                                                   "snapshot",
                                                   "replay",
                                                   "promise",
                                                   "handover",
                                                   "publish",
                                                   "checkpoint_write",
                                                   "checkpoint_sync",
                                                   "checkpoint_rename",
                                                   "checkpoint_record"};
constexpr std::array<std::string_view, 5> kActions{"kill", "stop", "exit", "slow", "cut"};

constexpr std::uint64_t kPauseMsMax = 600'000;
constexpr int kCodeMax = 255;
constexpr double kFactorMax = 1000;

template <class T>
std::optional<T> number(std::string_view digits) {
  T value{};
  const char* end = digits.data() + digits.size();
  const auto [rest, failed] = std::from_chars(digits.data(), end, value);
  if (failed != std::errc() || rest != end) return std::nullopt;
  return value;
}

Error invalid(std::string problem) { return {Code::kInvalid, std::move(problem)}; }

Result<void> read_stop(std::string_view value, Fault& fault) {
  const auto ms = number<std::uint64_t>(value);
  if (!ms || *ms < 1 || *ms > kPauseMsMax) {
    return invalid(text("stop takes milliseconds from 1 to ", kPauseMsMax, ", as in stop:500"));
  }
  fault.pause = std::chrono::milliseconds(*ms);
  return {};
}

Result<void> read_exit(std::string_view value, Fault& fault) {
  const auto code = number<int>(value);
  if (!code || *code < 0 || *code > kCodeMax) {
    return invalid(text("exit takes a code from 0 to ", kCodeMax, ", as in exit:3"));
  }
  fault.code = *code;
  return {};
}

Result<void> read_slow(std::string_view value, Fault& fault) {
  const auto factor = number<double>(value);
  if (!factor || !std::isfinite(*factor) || *factor < 1 || *factor > kFactorMax) {
    return invalid(text("slow takes a factor from 1 to ", kFactorMax, ", as in slow:2.5"));
  }
  fault.factor = *factor;
  return {};
}

Result<void> read_action(std::string_view input, Fault& fault) {
  const std::size_t colon = input.find(':');
  const bool has_value = colon != std::string_view::npos;
  const std::string_view value = has_value ? input.substr(colon + 1) : std::string_view();
  EDL_TRY(fault.action,
          parse_word<FaultAction>("action of a fault", input.substr(0, colon), kActions));
  switch (fault.action) {
    case FaultAction::kKill:
      if (has_value) return invalid("kill takes no value");
      return {};
    case FaultAction::kStop:
      return read_stop(value, fault);
    case FaultAction::kExit:
      return read_exit(value, fault);
    case FaultAction::kSlow:
      return read_slow(value, fault);
    case FaultAction::kCut:
      fault.cut = value;
      return validate_name("worker", value);
  }
  return {};
}

// "compute@20/w2".
Result<void> read_place(std::string_view input, Fault& fault) {
  const std::size_t at = input.find('@');
  if (at == std::string_view::npos) return invalid("its step is missing");
  EDL_TRY(fault.phase, parse_fault_phase(input.substr(0, at)));
  const std::string_view rest = input.substr(at + 1);
  const std::size_t slash = rest.find('/');
  const auto step = number<std::uint64_t>(rest.substr(0, slash));
  if (!step || *step < 1) return invalid("its step is a whole number from 1 on");
  fault.step = Step(*step);
  if (slash == std::string_view::npos) return {};
  fault.worker = std::string(rest.substr(slash + 1));
  return validate_name("worker", *fault.worker);
}

Result<Fault> read_fault(std::string_view input) {
  const std::size_t equals = input.find('=');
  if (equals == std::string_view::npos) return invalid("its action is missing");
  Fault fault;
  EDL_TRY(read_place(input.substr(0, equals), fault));
  EDL_TRY(read_action(input.substr(equals + 1), fault));
  return fault;
}

std::string action_text(const Fault& fault) {
  const std::string_view word = name(fault.action);
  switch (fault.action) {
    case FaultAction::kKill:
      break;
    case FaultAction::kStop:
      return text(word, ":",
                  std::chrono::duration_cast<std::chrono::milliseconds>(fault.pause).count());
    case FaultAction::kExit:
      return text(word, ":", fault.code);
    case FaultAction::kSlow:
      return text(word, ":", fault.factor);
    case FaultAction::kCut:
      return text(word, ":", fault.cut);
  }
  return std::string(word);
}

}  // namespace

std::string_view name(FaultPhase phase) { return word_of(phase, kPhases); }

Result<FaultPhase> parse_fault_phase(std::string_view word) {
  return parse_word<FaultPhase>("phase of a step", word, kPhases);
}

std::string_view name(FaultAction action) { return word_of(action, kActions); }

Result<Fault> parse_fault(std::string_view input) {
  auto fault = read_fault(input);
  if (fault.ok()) return fault;
  const std::string& problem = fault.error().message;
  return invalid(text("\"", input.substr(0, 2 * kNameMax), "\" is no fault: ", problem,
                      problem.ends_with('.') || problem.ends_with('?') ? "" : ".",
                      " Write PHASE@STEP[/WORKER]=ACTION, as in compute@20/w2=kill."));
}

std::string fault_text(const Fault& fault) {
  return text(name(fault.phase), "@", fault.step, fault.worker ? "/" : "",
              fault.worker.value_or(""), "=", action_text(fault));
}

void to_json(Json& json, const Fault& fault) { json = fault_text(fault); }

Result<Fault> fault_from(const Json& json) {
  const std::string* words = json.get_ptr<const std::string*>();
  if (words == nullptr) return invalid("a fault is text");
  return parse_fault(*words);
}

bool fires(const Fault& fault, FaultPhase phase, Step step, std::string_view id) {
  return fault.phase == phase && step >= fault.step && (!fault.worker || *fault.worker == id);
}

}  // namespace edl::model
