#include "edl/simulator/formats.h"

#include <array>

namespace edl::simulator {

std::span<const Format> formats() {
  static const std::array kFormats = {kPolluxFormat, kElasticFlowFormat, kTiresiasFormat,
                                      kPhillyFormat, kShockwaveFormat,   kSyntheticFormat};
  return kFormats;
}

}  // namespace edl::simulator
