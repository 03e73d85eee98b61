#include "edl/agent/event_log.h"

#include <array>
#include <chrono>
#include <cmath>
#include <string_view>

#include "edl/agent/loose_fields.h"
#include "edl/base/text.h"

namespace edl::agent {
namespace {

constexpr std::size_t kNamesMax = 4096;  // of metrics and of workers whose last word is kept

struct Order {
  std::string_view event;
  std::string_view fields;
};
constexpr std::array<Order, 9> kOrders{{
    {"started", "job dir workers min max wanted logical_workers batch seed"},
    {"view",
     "generation members first_step epoch position batch cause who reason pause_ms detect_ms "
     "agree_ms transfer_ms resume_ms steps_redone parts_redone steps_lost predicted_pause_ms "
     "predicted_detect_ms predicted_agree_ms predicted_transfer_ms predicted_resume_ms"},
    {"step",
     "step epoch position samples loss lr workers generation step_ms samples_per_second applied "
     "digest"},
    {"metric", "step epoch name value"},
    {"checkpoint", "step path bytes stall_ms write_ms"},
    {"worker", "id pid host state reason exit"},
    {"warning", "host reason"},
    {"finished", "state steps samples epochs state_hash seconds metrics position"},
    {"failed", "reason worker log"},
}};

bool has_effect(const Json& view) { return view.contains("pause_ms"); }

OrderedJson ordered(const Json& value) { return OrderedJson::parse(json_line(value)); }

double time_of(const Json& event, WallTime now) {
  const auto at = event.find("at");
  const double told = at != event.end() && at->is_number() ? at->get<double>() : wall_seconds(now);
  return std::round(told * 1e6) / 1e6;
}

}  // namespace

double wall_seconds(WallTime time) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch());
  return static_cast<double>(micros.count()) / 1e6;
}

OrderedJson in_order(const Json& event, double time) {
  const std::string kind = word(event, "event");
  OrderedJson out{{"event", kind}, {"time", time}};
  for (const Order& order : kOrders) {
    if (order.event != kind) continue;
    for (const std::string_view field : split(order.fields, ' ')) {
      const auto found = event.find(std::string(field));
      if (found != event.end()) out[std::string(field)] = ordered(*found);
    }
  }
  for (const auto& [name, value] : event.items()) {
    if (name != "at" && name != "time" && !out.contains(name)) out[name] = ordered(value);
  }
  return out;
}

std::string event_line(const OrderedJson& event) {
  return event.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::optional<OrderedJson> EventLog::take(const Json& event, WallTime now) {
  if (!event.is_object() || word(event, "event").empty()) return std::nullopt;
  const double time = time_of(event, now);
  if (!is_wanted(event, time)) return std::nullopt;
  return told(event, time);
}

// Workers count what their ledgers had; the last steps may have been told and not written yet.
OrderedJson EventLog::told(const Json& event, double time) const {
  OrderedJson out = in_order(event, time);
  if (word(event, "event") == "view" && has_effect(event) && lost_ > number(event, "steps_lost")) {
    out["steps_lost"] = lost_;
  }
  return out;
}

void EventLog::remember(const Json& event) {
  if (!event.is_object()) return;
  const std::string kind = word(event, "event");
  if (kind == "finished" || kind == "failed" || kind == "worker") return;
  if (kind == "step") last_step_ = number(event, "step");
  is_wanted(event, 0);
}

bool EventLog::is_wanted(const Json& event, double time) {
  const std::string kind = word(event, "event");
  if (kind == "step") return is_wanted_step(event, time);
  if (kind == "view") return is_wanted_view(event);
  return is_new(event);
}

bool EventLog::is_wanted_step(const Json& step, double time) {
  const std::uint64_t at = number(step, "step");
  if (at <= last_step_) return false;
  last_step_ = at;
  const std::uint64_t end = number(step, "position") + number(step, "samples");
  const bool is_last = end == rules_.samples || at == rules_.steps;
  const bool soon = time < last_step_time_ + seconds(rules_.step_every) && time >= last_step_time_;
  if (soon && !is_last && !rules_.all_steps) return false;
  last_step_time_ = time;
  return true;
}

bool EventLog::is_wanted_view(const Json& view) {
  const std::uint64_t generation = number(view, "generation");
  if (has_effect(view)) {
    if (generation <= effect_) return false;
    effect_ = generation;
    return true;
  }
  if (generation <= generation_) return false;
  generation_ = generation;
  lost_ = 0;
  // Nothing after the checkpoint is known any more; it comes once more.
  const std::uint64_t first = number(view, "first_step");
  if (word(view, "cause") != "resume" || first == 0 || first > last_step_) return true;
  lost_ = last_step_ - (first - 1);
  last_step_ = first - 1;
  for (auto& [name, step] : metrics_) step = std::min(step, last_step_);
  last_checkpoint_ = std::min(last_checkpoint_, last_step_);
  return true;
}

bool EventLog::is_new(const Json& event) {
  const std::string kind = word(event, "event");
  const std::uint64_t step = number(event, "step");
  if (kind == "finished" || kind == "failed") return !std::exchange(ended_, true);
  if (kind == "checkpoint") {
    if (step <= last_checkpoint_) return false;
    last_checkpoint_ = step;
  }
  if (kind == "metric") {
    const std::string name = word(event, "name");
    if (metrics_.size() >= kNamesMax && !metrics_.contains(name)) return true;
    const auto [known, first] = metrics_.try_emplace(name, step);
    if (!first && step <= known->second) return false;
    known->second = step;
  }
  if (kind == "worker") {
    const std::string said = text(word(event, "state"), " ", word(event, "reason"));
    if (workers_.size() >= kNamesMax) workers_.clear();
    if (std::exchange(workers_[word(event, "id")], said) == said) return false;
  }
  return true;
}

}  // namespace edl::agent
