// One page that shows how policies did on traces: a table, and plots as drawings within the page.
// It needs nothing from elsewhere.
#pragma once

#include <string>
#include <vector>

#include "edl/simulator/simulation.h"
#include "edl/simulator/summary.h"

namespace edl::simulator {

struct ReportRun {
  Summary summary{};
  Outcome outcome{};  // with its timeline
};

// What the page is about, before what it says of each run.
struct Preface {
  std::string title = "Policies compared";
  std::string words{};     // a sentence a line
  std::string drawings{};  // as SVG
};

std::string html_report(const std::vector<ReportRun>& runs, const Preface& preface = {});

// What a run's process hands to the one that writes the report.
Json outcome_json(const Outcome& outcome);
Result<Outcome> outcome_from(const Json& json);

}  // namespace edl::simulator
