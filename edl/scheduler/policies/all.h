// The policies that registry.cc lists.
#pragma once

#include "edl/scheduler/policy.h"

namespace edl::scheduler {

extern const Policy kFifo;
extern const Policy kSrtf;
extern const Policy kTiresias;
extern const Policy kTiresiasElastic;
extern const Policy kOptimus;
extern const Policy kAfs;
extern const Policy kEdl;
extern const Policy kWfs;
extern const Policy kPollux;
extern const Policy kOurs;

}  // namespace edl::scheduler
