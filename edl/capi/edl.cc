#include "edl/capi/edl.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "edl/capi/handles.h"

using edl::Code;
using edl::Error;
using edl::Result;
using edl::capi::last_message;
using edl::capi::told;

std::string& edl::capi::last_message() {
  thread_local std::string sentence;
  return sentence;
}

namespace {

edl_code code_of(Code code) {
  switch (code) {
    case Code::kInvalid:
      return EDL_INVALID;
    case Code::kNotFound:
      return EDL_NOT_FOUND;
    case Code::kConflict:
      return EDL_CONFLICT;
    case Code::kUnavailable:
      return EDL_UNAVAILABLE;
    case Code::kTimeout:
      return EDL_TIMEOUT;
    case Code::kViewChanged:
      return EDL_VIEW_CHANGED;
    case Code::kCorrupt:
      return EDL_CORRUPT;
    case Code::kExhausted:
      return EDL_EXHAUSTED;
  }
  return EDL_INVALID;
}

// Of a program that was written for another version of this header, the functions that it knows.
Result<edl_calls> known_calls(const edl_calls* calls) {
  constexpr std::uint64_t kFirstVersion = offsetof(edl_calls, upcoming) + sizeof(void*);
  if (calls == nullptr || calls->bytes < kFirstVersion || calls->bytes > 4096) {
    return Error{Code::kInvalid, "edl_calls.bytes must be sizeof(edl_calls)"};
  }
  edl_calls out{};
  std::memcpy(&out, calls, std::min<std::uint64_t>(calls->bytes, sizeof out));
  if (!out.initialise || !out.loaded || !out.compute || !out.apply || !out.evaluate) {
    return Error{Code::kInvalid,
                 "edl_calls lacks one of initialise, loaded, compute, apply, evaluate"};
  }
  return out;
}

Result<std::unique_ptr<edl_trainee>> make(const edl_calls* calls, void* context,
                                          const char* description) {
  EDL_TRY(const edl_calls known, known_calls(calls));
  if (description == nullptr) return Error{Code::kInvalid, "the description is missing"};
  EDL_TRY(auto parsed, edl::capi::parse_description(description));
  auto out = std::make_unique<edl_trainee>();
  out->foreign = std::make_unique<edl::capi::ForeignTrainee>(known, context, std::move(parsed));
  out->trained = out->foreign.get();
  return out;
}

}  // namespace

edl_code edl::capi::told(const Result<void>& result) {
  if (result.ok()) return EDL_OK;
  last_message() = result.error().message;
  return code_of(result.error().code);
}

uint32_t edl_api_version(void) { return EDL_API_VERSION; }

const char* edl_last_message(void) { return last_message().c_str(); }

void edl_fail(const char* sentence) { edl::capi::set_failure(sentence); }

edl_code edl_gradient(edl_computing* computing, uint32_t parameter, const void* numbers,
                      uint64_t samples) {
  if (computing == nullptr || numbers == nullptr) {
    return told(Error{Code::kInvalid, "a gradient without numbers"});
  }
  return told(
      computing->trainee.take(computing->gradients, {parameter, numbers, samples, nullptr}));
}

edl_code edl_gradient_given(edl_computing* computing, uint32_t parameter, DLManagedTensor* gradient,
                            uint64_t samples) {
  if (computing == nullptr || gradient == nullptr) {
    return told(Error{Code::kInvalid, "a gradient without numbers"});
  }
  return told(
      computing->trainee.take_given(computing->gradients, parameter, gradient, false, samples));
}

edl_code edl_gradients(edl_computing* computing, const void* const* numbers,
                       DLManagedTensor* const* given, const uint8_t* is_own, uint64_t samples) {
  if (computing == nullptr || numbers == nullptr || given == nullptr || is_own == nullptr) {
    return told(Error{Code::kInvalid, "gradients without numbers"});
  }
  return told(computing->trainee.take_all(computing->gradients, {numbers, given, is_own}, samples));
}

edl_trainee* edl_trainee_new(const edl_calls* calls, void* context, const char* description) {
  auto made = make(calls, context, description);
  if (made.ok()) return made->release();
  last_message() = made.error().message;
  return nullptr;
}

void edl_trainee_free(edl_trainee* trainee) { delete trainee; }

edl_code edl_trainee_add(edl_trainee* trainee, edl_kind kind, const char* name,
                         const DLTensor* tensor) {
  if (trainee == nullptr || !trainee->foreign || name == nullptr || tensor == nullptr) {
    return told(Error{Code::kInvalid, "edl_trainee_add needs a trainee, a name and a tensor"});
  }
  return told(trainee->foreign->add(kind, name, *tensor));
}
