// What people see of a running job: on a terminal one line that is redrawn, elsewhere a plain line
// every few seconds; each change of view is a sentence of its own. Plain state: text out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edl/agent/event_log.h"
#include "edl/base/time.h"

namespace edl::cli {

struct ProgressOptions {
  std::optional<int> columns{};          // of the terminal; nothing when it is none
  std::optional<std::uint64_t> steps{};  // to train in all
  Duration redraw_every = 100ms;
  Duration line_every = 5s;
};

// "[###...] " of so many columns between the brackets.
std::string bar_text(double share, std::size_t width);

class Progress {
 public:
  explicit Progress(ProgressOptions options) : options_(options) {}

  // What to write now; empty when there is nothing new to see.
  std::string take(const agent::OrderedJson& event, Time now);
  // A sentence above the line.
  std::string say(const std::string& sentence);
  // Leaves the last state of the line and goes below it.
  std::string close();

  // The line as it would be drawn with so many columns, without the parts that find no room; all of
  // them with 0.
  std::string line(std::size_t columns) const;

 private:
  struct Part {
    int rank;
    std::string words;
  };

  void on_step(const agent::OrderedJson& step, Time now);
  std::string draw();
  std::optional<Duration> time_left() const;
  std::vector<Part> parts() const;

  const ProgressOptions options_;
  std::uint64_t epoch_ = 0;
  std::uint64_t step_ = 0;
  std::uint64_t workers_ = 0;
  std::optional<double> loss_;
  double samples_per_second_ = 0;
  std::map<std::string, double> metrics_;
  std::optional<std::uint64_t> first_step_;  // of those that we saw
  Time first_time_{};
  Time last_time_{};
  std::optional<Time> drawn_;
  bool on_screen_ = false;
};

// The sentence of an event that is worth one, else empty.
std::string event_sentence(const agent::OrderedJson& event);

}  // namespace edl::cli
