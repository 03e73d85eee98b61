// Tells people what was wrong with how they called the program, and what they probably meant.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace edl::cli {

// One sentence. `root` has just failed to parse, with this error.
std::string usage_problem(const CLI::App& root, const CLI::ParseError& error);

}  // namespace edl::cli
