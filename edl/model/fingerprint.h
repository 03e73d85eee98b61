// What the bits of a program's numbers depend on beside the job: the libraries that compute them,
// the instruction set, threads, and the hash of a small known computation. All workers of a job
// have the same one; with two of them the sums would belong to neither.
#pragma once

#include <map>
#include <string>

#include "edl/base/json.h"
#include "edl/base/result.h"

namespace edl::model {

inline constexpr std::size_t kFingerprintPartsMax = 32;

// The part that is the hash of a computation: where it alone differs, nobody knows why.
inline constexpr const char* kKnownPart = "known";

// By the names of its parts; empty: nobody knows it.
using Fingerprint = std::map<std::string, std::string>;

// An object of texts. A text alone, as jobs had it once, is a part of its own.
Result<Fingerprint> fingerprint_from(const Json& json);

// Which parts differ and what to do about it, as the end of a sentence; empty when they are the
// same, or one of them is not known.
std::string fingerprint_difference(const Fingerprint& here, const Fingerprint& job);

}  // namespace edl::model
