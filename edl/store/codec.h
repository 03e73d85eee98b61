// Messages as JSON, the way etcd's gateway writes them: bytes in base64, 64-bit numbers as strings,
// fields in order, and none that is zero.
#pragma once

#include <string>

#include "edl/base/result.h"
#include "edl/store/message.h"
#include "edl/store/raw_json.h"
#include "edl/store/stream_message.h"

namespace edl::store {

template <class M>
void append_message(std::string& out, const M& message);

template <class M>
std::string message_text(const M& message) {
  std::string out;
  append_message(out, message);
  return out;
}

// Fields may be named in either style (range_end, rangeEnd); unknown ones are ignored. What is
// wrong is told in the words of etcd.
template <class M>
Result<M> read_message(const RawJson& json);

}  // namespace edl::store
