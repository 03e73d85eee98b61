#include "edl/simulator/formats.h"

#include <array>

namespace edl::simulator {

std::span<const Format> formats() {
  static const std::array known = {kPolluxFormat, kElasticFlowFormat, kTiresiasFormat,
                                   kPhillyFormat, kShockwaveFormat,   kSyntheticFormat};
  return known;
}

}  // namespace edl::simulator
