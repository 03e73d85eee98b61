// The formats of traces that are known: one file each in formats/, one line in formats.cc.
#pragma once

#include <span>
#include <string>

#include "edl/simulator/trace.h"

namespace edl::simulator {

struct Format {
  const char* name;
  bool (*knows)(std::string_view first_line);
  Result<Trace> (*read)(os::Disk& disk, std::string_view words, const std::string& profiles);
};

std::span<const Format> formats();

extern const Format kPolluxFormat;
extern const Format kElasticFlowFormat;
extern const Format kTiresiasFormat;
extern const Format kPhillyFormat;
extern const Format kShockwaveFormat;
extern const Format kSyntheticFormat;

}  // namespace edl::simulator
