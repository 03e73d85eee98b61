// The parts of `edl sim` that its files share.
#pragma once

#include <span>
#include <string>

#include "edl/simulator/summary.h"

namespace edl::cli {

// A table for people: one run a line.
std::string summary_table(std::span<const simulator::Summary> runs);

}  // namespace edl::cli
