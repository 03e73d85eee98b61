#include "edl/os/virtual/trace.h"

#include "edl/base/random.h"

namespace edl::os {

void Trace::number(std::uint64_t value) { hash_ = mix64(hash_ ^ value); }

void Trace::line(Time time, std::string_view who, std::string_view line) {
  number(static_cast<std::uint64_t>(time.time_since_epoch().count()));
  for (const std::string_view part : {who, line}) {
    for (const char letter : part)
      hash_ = (hash_ ^ static_cast<unsigned char>(letter)) * 0x100000001B3u;
    number(part.size());
  }
  if (listener_) listener_(time, who, line);
}

void Trace::hit(std::string_view name, std::uint64_t times) {
  const auto found = hits_.find(name);
  if (found != hits_.end()) {
    found->second += times;
  } else {
    hits_.emplace(name, times);
  }
}

}  // namespace edl::os
