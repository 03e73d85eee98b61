#include "edl/cli/progress.h"

#include <algorithm>
#include <cstdio>

#include "edl/agent/loose_fields.h"
#include "edl/base/text.h"
#include "edl/train/memory_bill.h"

namespace edl::cli {
namespace {

using agent::number;
using agent::OrderedJson;
using agent::word;

constexpr std::size_t kBarMin = 5;
constexpr std::size_t kBarMax = 30;
constexpr std::size_t kBarEnds = 3;  // its brackets, and the space behind it
constexpr int kMetricsShown = 2;
constexpr const char* kClearLine = "\r\x1b[K";

std::optional<double> real(const OrderedJson& event, const char* name) {
  const auto found = event.find(name);
  if (found == event.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string rounded(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.4g", value);
  return buffer;
}

// Whole numbers only: it is a guess.
std::string roughly(Duration duration) {
  const auto whole = std::chrono::round<std::chrono::seconds>(duration).count();
  if (whole < 120) return text(whole, " s");
  return whole < 7200 ? text(whole / 60, " min") : text(whole / 3600, " h");
}

std::string counted(std::uint64_t count, std::string_view one) {
  return text(count, " ", one, count == 1 ? "" : "s");
}

std::string memory_clause(const OrderedJson& started) {
  const auto bill = started.find("memory");
  if (bill == started.end() || !bill->is_object()) return "";
  return text(" of up to ", train::bytes_text(number(*bill, "total")));
}

bool is_marked(const OrderedJson& event) {
  return event.contains("reproducible") && event["reproducible"] == false;
}

std::string view_sentence(const OrderedJson& view) {
  if (const auto pause = real(view, "pause_ms")) {
    return text("View ", number(view, "generation"), " took effect; training paused for ",
                rounded(*pause), " ms.");
  }
  const auto members = view.find("members");
  const std::size_t count = members != view.end() && members->is_array() ? members->size() : 0;
  const std::string reason = word(view, "reason");
  const bool knows_step = real(view, "first_step").has_value();
  return text("View ", number(view, "generation"), " (", word(view, "cause"),
              "): ", counted(count, "worker"),
              knows_step ? text(" from step ", number(view, "first_step")) : "", ".",
              reason.empty() ? "" : " ", reason);
}

std::string end_sentence(const OrderedJson& worker) {
  if (word(worker, "state") != "exited") return "";
  const auto exit = worker.find("exit");
  if (exit == worker.end() || !exit->is_object() || word(*exit, "class") == "left") return "";
  return text("Worker ", word(worker, "id"), " ended. ", word(worker, "reason"));
}

}  // namespace

std::string event_sentence(const OrderedJson& event) {
  const std::string kind = word(event, "event");
  if (kind == "view") return view_sentence(event);
  if (kind == "worker") return end_sentence(event);
  if (kind == "started") {
    const bool is_driven = real(event, "logical_workers").has_value();
    return text(
        "Job ", word(event, "job"), " in ", word(event, "dir"), ": ",
        counted(number(event, "wanted"), "worker"), memory_clause(event),
        is_driven ? text(" for ", counted(number(event, "logical_workers"), "logical worker")) : "",
        is_marked(event) ? "; it is not reproducible, as numbers had other bits in a run before"
                         : "",
        ".");
  }
  if (kind == "finished") {
    const bool knows_steps = real(event, "steps").has_value();
    return text("The job ", word(event, "state") == "stopped" ? "stopped" : "finished",
                knows_steps ? text(" after ", counted(number(event, "steps"), "step")) : "", ".");
  }
  return "";
}

void Progress::on_step(const OrderedJson& step, Time now) {
  step_ = number(step, "step");
  epoch_ = number(step, "epoch");
  workers_ = number(step, "workers");
  loss_ = real(step, "loss");
  samples_per_second_ = real(step, "samples_per_second").value_or(0);
  if (!first_step_ || step_ < *first_step_) {
    first_step_ = step_;
    first_time_ = now;
  }
  last_time_ = now;
}

std::string Progress::take(const OrderedJson& event, Time now) {
  const std::string kind = word(event, "event");
  const std::string sentence = event_sentence(event);
  if (!sentence.empty()) return say(sentence);
  if (kind == "metric") {
    if (const auto value = real(event, "value")) metrics_[word(event, "name")] = *value;
    return "";
  }
  if (kind != "step") return "";
  on_step(event, now);
  const Duration every = options_.columns ? options_.redraw_every : options_.line_every;
  if (drawn_ && now - *drawn_ < every) return "";
  drawn_ = now;
  return draw();
}

std::string Progress::draw() {
  if (!options_.columns) return line(0) + "\n";
  on_screen_ = true;
  return kClearLine + line(static_cast<std::size_t>(std::max(1, *options_.columns - 1)));
}

std::string Progress::say(const std::string& sentence) {
  if (!on_screen_) return sentence + "\n";
  return kClearLine + sentence + "\n" + draw();
}

std::string Progress::close() {
  if (!options_.columns || !first_step_) return "";
  on_screen_ = false;
  return draw() + "\n";
}

std::optional<Duration> Progress::time_left() const {
  if (!options_.steps || !first_step_ || step_ <= *first_step_) return std::nullopt;
  const std::uint64_t left = *options_.steps - std::min(*options_.steps, step_);
  const double each = seconds(last_time_ - first_time_) / static_cast<double>(step_ - *first_step_);
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(each * static_cast<double>(left)));
}

std::string bar_text(double share, std::size_t width) {
  const auto full = static_cast<std::size_t>(std::min(share, 1.0) * static_cast<double>(width));
  return text("[", std::string(full, '#'), std::string(width - full, '.'), "] ");
}

// In the order in which they are read. The higher its rank, the sooner a part goes when there is no
// room for all of them.
std::vector<Progress::Part> Progress::parts() const {
  std::vector<Part> parts{
      {0, options_.steps ? text("step ", step_, "/", *options_.steps) : text("step ", step_)},
      {5, text("epoch ", epoch_)}};
  if (loss_) parts.push_back({1, text("loss ", rounded(*loss_))});
  int shown = 0;
  for (const auto& [name, value] : metrics_) {
    if (shown++ < kMetricsShown) parts.push_back({5 + shown, text(name, " ", rounded(value))});
  }
  parts.push_back({3, counted(workers_, "worker")});
  parts.push_back({2, text(static_cast<std::uint64_t>(samples_per_second_), " samples/s")});
  if (const auto left = time_left()) parts.push_back({4, text(roughly(*left), " left")});
  return parts;
}

std::string Progress::line(std::size_t columns) const {
  std::vector<Part> parts = this->parts();
  const auto joined = [&] {
    std::string out;
    for (const Part& part : parts) out += text(out.empty() ? "" : "  ", part.words);
    return out;
  };
  std::string out = joined();
  if (columns == 0) return out;
  const bool has_bar = options_.steps && *options_.steps > 0;
  const std::size_t beside = has_bar ? kBarMin + kBarEnds : 0;
  while (parts.size() > 1 && out.size() + beside > columns) {
    parts.erase(std::ranges::max_element(parts, {}, &Part::rank));
    out = joined();
  }
  const std::size_t spare = columns - std::min(columns, out.size() + kBarEnds);
  if (has_bar && spare >= kBarMin) {
    const double share = static_cast<double>(step_) / static_cast<double>(*options_.steps);
    out = bar_text(share, std::min(spare, kBarMax)) + out;
  }
  return out.substr(0, columns);
}

}  // namespace edl::cli
