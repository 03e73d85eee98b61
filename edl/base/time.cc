#include "edl/base/time.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "edl/base/text.h"

namespace edl {
namespace {

struct Unit {
  std::string_view name;
  double nanoseconds;
};
constexpr std::array<Unit, 6> kUnits{
    {{"h", 3600e9}, {"m", 60e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}}};

}  // namespace

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string duration_text(Duration duration) {
  const double value = static_cast<double>(duration.count());
  if (value == 0) return "0 s";
  const Unit* unit = &kUnits.back();
  for (const Unit& candidate : kUnits) {
    if (std::fabs(value) >= candidate.nanoseconds) {
      unit = &candidate;
      break;
    }
  }
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.4g %.*s", value / unit->nanoseconds,
                static_cast<int>(unit->name.size()), unit->name.data());
  return buffer;
}

void append_text(std::string& out, Duration duration) { out += duration_text(duration); }

Result<Duration> parse_duration(std::string_view input) {
  double number = 0;
  const char* end = input.data() + input.size();
  auto [rest, failed] = std::from_chars(input.data(), end, number);
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  if (failed == std::errc() && number >= 0) {
    for (const Unit& unit : kUnits) {
      const double nanoseconds = number * unit.nanoseconds;
      if (unit.name == suffix && nanoseconds < 9e18) {
        return Duration(static_cast<Duration::rep>(std::llround(nanoseconds)));
      }
    }
  }
  return Error{Code::kInvalid,
               text("\"", input, "\" is not a duration: write a number and a unit, ",
                    "for example 250ms, 15s, 10m or 2h")};
}

}  // namespace edl
