// What torch throws becomes a sentence.
#pragma once

#include <torch/torch.h>

#include <exception>

#include "edl/base/result.h"

namespace edl::torch {

template <class Call>
auto guarded(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const c10::Error& error) {
    return Error{Code::kInvalid, error.what_without_backtrace()};
  } catch (const std::exception& error) {
    return Error{Code::kInvalid, error.what()};
  }
}

}  // namespace edl::torch
