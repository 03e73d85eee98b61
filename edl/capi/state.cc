// What a program may ask of its training: facts, and copies of the state.
#include <algorithm>
#include <cstring>

#include "edl/capi/handles.h"
#include "edl/train/transfer.h"

using edl::Code;
using edl::Error;
using edl::Result;
using edl::capi::last_message;
using edl::capi::told;

namespace {

Result<std::unique_ptr<edl_copy>> copy_of(const edl_trainee* trainee) {
  if (trainee == nullptr) return Error{Code::kInvalid, "edl_copy_state needs a trainee"};
  edl::capi::ForeignTrainee& trained = *trainee->trained;
  auto out = std::make_unique<edl_copy>();
  edl::checkpoint::State state = trained.facts().state();
  state.fingerprint = trained.description().facts.value("fingerprint", edl::Json());
  EDL_TRY(out->state.take(edl::train::as_tensors(trained.state()), state));
  out->hash = out->state.hash();
  state.user = {{"state_hash", out->hash}, {"job", trained.facts().dir()}};
  out->state.set_state(std::move(state));
  return out;
}

}  // namespace

edl_code edl_facts_of(const edl_trainee* trainee, edl_facts* facts) {
  if (trainee == nullptr || facts == nullptr || facts->bytes < sizeof facts->bytes) {
    return told(Error{Code::kInvalid, "edl_facts.bytes must be sizeof(edl_facts)"});
  }
  const std::uint64_t bytes = facts->bytes;
  const edl_facts now = trainee->trained->facts().plain();
  std::memcpy(facts, &now, std::min<std::uint64_t>(bytes, sizeof now));
  facts->bytes = bytes;
  return EDL_OK;
}

edl_copy* edl_copy_state(const edl_trainee* trainee) {
  auto made = copy_of(trainee);
  if (made.ok()) return made->release();
  last_message() = made.error().message;
  return nullptr;
}

void edl_copy_free(edl_copy* copy) { delete copy; }

const char* edl_copy_hash(const edl_copy* copy) {
  return copy == nullptr ? "" : copy->hash.c_str();
}
