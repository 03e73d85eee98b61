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

// A line that the program printed.
struct OwnLine {
  std::string text{};
  bool follows_core = false;  // the core has noted something since the one before
};

std::vector<OwnLine> own_lines(const std::vector<std::string>& log) {
  std::vector<OwnLine> out;
  bool follows_core = false;
  for (const std::string& line : log) {
    const bool is_core = core_level(line) != 0;
    if (!is_core) out.push_back({line, follows_core});
    follows_core = is_core;
  }
  return out;
}

std::size_t begin_of_last(const std::vector<OwnLine>& lines) {
  std::size_t begin = lines.size();
  for (std::size_t i = lines.size(); i-- > 0;) {
    if (!begins_traceback(lines[i].text)) continue;
    begin = i;
    if (i < 2 || !is_link(lines[i - 2].text)) break;
  }
  return begin;
}

// Frames are indented; what was raised is not. The core may have noted something in between.
std::vector<std::string> last_traceback(const std::vector<OwnLine>& lines) {
  std::vector<std::string> out;
  bool is_whole = false;  // up to here; those of a chain are one
  for (std::size_t i = begin_of_last(lines); i < lines.size(); ++i) {
    const std::string& line = lines[i].text;
    const bool goes_on = line.empty() || is_link(line) || begins_traceback(line);
    if (is_whole && lines[i].follows_core && !goes_on) break;
    is_whole = !begins_traceback(line) && (is_whole || (!line.empty() && line[0] != ' '));
    out.push_back(line);
  }
  return out;
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
  std::vector<std::string> lines = last_traceback(own_lines(log));
  if (!lines.empty()) return {.lines = shortened(std::move(lines)), .is_traceback = true};
  for (const std::string& line : log) {
    if (core_level(line) != 'I') lines.push_back(line);
  }
  if (lines.size() > kTail) lines.erase(lines.begin(), lines.end() - kTail);
  return {.lines = std::move(lines)};
}

}  // namespace edl::agent
