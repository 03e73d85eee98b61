#include "edl/model/sample_count.h"

#include "edl/model/order.h"

namespace edl::model {

void write_samples(Json& json, const SampleCount& samples) {
  if (samples.is_known()) {
    json["samples"] = samples.known();
  } else {
    json["stream"] = true;
  }
}

void read_samples(JsonReader& in, SampleCount& samples) {
  bool is_stream = false;
  in.read_optional("stream", is_stream);
  std::uint64_t number = 0;
  if (!is_stream) in.read("samples", number);
  samples = is_stream ? SampleCount::unknown() : SampleCount(number);
}

Result<void> validate_samples(const SampleCount& samples) {
  return samples.is_known() ? validate_samples(samples.known()) : Result<void>();
}

std::string samples_text(const SampleCount& samples) {
  return samples.is_known() ? text(samples.known(), " samples") : "a stream of samples";
}

}  // namespace edl::model
