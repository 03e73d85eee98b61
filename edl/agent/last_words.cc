#include "edl/agent/last_words.h"

#include <cctype>
#include <string_view>

#include "edl/base/text.h"

namespace edl::agent {
namespace {

constexpr std::size_t kTracebackMax = 200;  // lines; then the middle is left out
constexpr std::size_t kHead = 100;
constexpr std::size_t kTail = 20;  // when there is no traceback

// "2026-11-19T21:50:49.392684 I membership: enter view 6"; the level, or 0 for the program's own.
char core_level(std::string_view line) {
  constexpr std::size_t kLevel = 27;
  if (line.size() < kLevel + 2 || line[4] != '-' || line[10] != 'T' || line[19] != '.') return 0;
  if (line[kLevel - 1] != ' ' || line[kLevel + 1] != ' ') return 0;
  return std::isdigit(static_cast<unsigned char>(line[0])) != 0 ? line[kLevel] : '\0';
}

// An exception's, a group's, or what the interpreter says when it is aborted.
bool begins_traceback(std::string_view line) {
  return line.starts_with("Traceback (most recent call last):") ||
         line.starts_with("  + Exception Group Traceback") ||
         line.starts_with("Fatal Python error:");
}

// Between the tracebacks of an exception and of the one from which it came.
bool is_link(std::string_view line) {
  return line.starts_with("During handling of the above exception") ||
         line.starts_with("The above exception was the direct cause");
}

std::size_t begin_of_last(const std::vector<std::string>& log) {
  std::size_t begin = log.size();
  for (std::size_t i = log.size(); i-- > 0;) {
    if (core_level(log[i]) != 0 && begin < log.size()) return begin;
    if (!begins_traceback(log[i])) continue;
    begin = i;
    if (i < 2 || !is_link(log[i - 2])) return begin;
  }
  return begin;
}

std::vector<std::string> shortened(std::vector<std::string> lines) {
  if (lines.size() <= kTracebackMax) return lines;
  const std::size_t left_out = lines.size() - kTracebackMax + 1;
  const auto head = lines.begin() + kHead;
  lines.erase(head, head + static_cast<std::ptrdiff_t>(left_out));
  lines.insert(lines.begin() + kHead, text("  ... ", left_out, " more lines ..."));
  return lines;
}

}  // namespace

LastWords last_words(const std::vector<std::string>& log) {
  std::vector<std::string> lines;
  for (std::size_t i = begin_of_last(log); i < log.size() && core_level(log[i]) == 0; ++i) {
    lines.push_back(log[i]);
  }
  if (!lines.empty()) return {.lines = shortened(std::move(lines)), .is_traceback = true};
  for (const std::string& line : log) {
    if (core_level(line) != 'I') lines.push_back(line);
  }
  if (lines.size() > kTail) lines.erase(lines.begin(), lines.end() - kTail);
  return {.lines = std::move(lines)};
}

}  // namespace edl::agent
