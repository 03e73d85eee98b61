// What a worker tells about training: events in the order in which they became true, kept for a
// while, so that another worker can go on telling when the one that told so far is gone. Nothing
// about a step is told before it is stable. Plain state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "edl/base/json.h"
#include "edl/base/time.h"
#include "edl/model/record.h"
#include "edl/model/view.h"

namespace edl::train {

// What is told of a step. Plain: every member keeps it, one makes JSON of it.
struct StepReport {
  double at = 0;
  model::Step step{};
  model::Epoch epoch{};
  std::uint64_t position = 0;
  std::uint64_t samples = 0;
  double loss = 0;
  std::optional<double> lr{};
  std::size_t workers = 1;
  model::Generation generation{};
  double step_ms = 0;
  double samples_per_second = 0;
  bool applied = true;
  std::optional<double> noise_scale{};  // in samples
  model::NamedNumbers metrics{};        // means over its samples
  model::Digest digest{};
  bool ends_epoch = false;
};

// What is told of a view, when it is entered and again when its first step is completed.
struct ViewReport {
  double at = 0;
  model::View view{};
  Json cost{};  // its fields; null when it is not known yet
};

// What is told: of a step, of a view, or of something else that is JSON already.
using Report = std::variant<Json, StepReport, ViewReport>;
Json json_of(const Report& report);  // an event as in events.jsonl, with `at`

class Reporter {
 public:
  static constexpr std::size_t kKeptMax = 4096;

  // Begin to tell, with what is after these; everything that is kept, when they are 0.
  void tell_from(model::Step step, model::Generation generation);
  bool is_telling() const { return telling_; }

  // About a step; told once it is stable.
  void add(const StepReport& report);
  void add(model::Step step, Json event);
  // A fact that only this worker knows, about a step that is stable: it is told once, however old
  // the step is.
  void add_own(model::Step step, Json event);
  // Told at once.
  void add(ViewReport report);
  void on_stable(model::Step step);
  // What is known of steps after this one is forgotten: they never became stable, or everybody was
  // lost and training went back.
  void forget_after(model::Step step);
  // The state is the one that others have after this step. What was known before may be of a branch
  // that they have left; only our own facts count.
  void restart_at(model::Step step);

  // What is to be told now.
  std::vector<Report> take() { return std::exchange(outgoing_, {}); }

 private:
  struct Kept {
    model::Step step{};  // 0: about a view
    model::Generation generation{};
    Report event;
    bool is_untold = false;  // our own, and not told yet
  };
  void tell(Kept& kept);

  bool telling_ = false;
  model::Step from_{};
  model::Generation from_generation_{};
  model::Step stable_{};
  std::deque<Kept> told_;  // or could have been
  std::deque<Kept> waiting_;
  std::vector<Report> outgoing_;
};

}  // namespace edl::train
