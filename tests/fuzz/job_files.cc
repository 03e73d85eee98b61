// What a job's directory holds, as bytes from anyone: safetensors, manifests, states, ledgers,
// traces.
#include <algorithm>

#include "edl/base/check.h"
#include "edl/checkpoint/interval.h"
#include "edl/checkpoint/manifest.h"
#include "edl/checkpoint/safetensors.h"
#include "edl/checkpoint/state.h"
#include "edl/data/ledger_file.h"
#include "edl/data/lines.h"
#include "edl/data/trace.h"
#include "edl/data/verify.h"
#include "tests/fuzz/input.h"

using namespace edl;

namespace {

class BytesFile final : public os::File {
 public:
  explicit BytesFile(ConstBytes bytes) : bytes_(bytes) {}

  Result<std::size_t> read_at(std::uint64_t offset, ByteSpan into) override {
    if (offset >= bytes_.size()) return std::size_t{0};
    const std::size_t length = std::min<std::size_t>(into.size(), bytes_.size() - offset);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), length, into.begin());
    return length;
  }
  Result<std::uint64_t> size() override { return std::uint64_t{bytes_.size()}; }
  Result<void> write_at(std::uint64_t, ConstBytes) override { return refusal(); }
  Result<void> append(ConstBytes) override { return refusal(); }
  Result<void> truncate(std::uint64_t) override { return refusal(); }
  Result<void> sync() override { return refusal(); }

 private:
  static Error refusal() { return {Code::kInvalid, "this file is only read"}; }

  ConstBytes bytes_;
};

void read_tensors(ConstBytes bytes) {
  BytesFile file(bytes);
  const auto places = checkpoint::read_safetensors_header(file);
  if (!places.ok()) return;
  for (const auto& [name, place] : *places) {
    EDL_CHECK(place.begin <= place.end && place.end <= bytes.size());
    EDL_CHECK(checkpoint::tensor_bytes(place.dtype, place.shape).value() ==
              place.end - place.begin);
  }
}

void read_lines(ConstBytes bytes) {
  BytesFile file(bytes);
  data::LineReader lines(file, 100);
  for (;;) {
    const auto line = lines.next();
    if (!line.ok() || !line->has_value()) return;
    const auto part = data::trace_line_from(**line);
    if (!part.ok()) continue;
    const std::string again = data::trace_line(*part);
    const auto same = data::trace_line_from(std::string_view(again).substr(0, again.size() - 1));
    EDL_CHECK(data::trace_line(same.value()) == again);
  }
}

void read_records(ConstBytes bytes) {
  const auto lines = data::decode_records(bytes, 100);
  if (!lines.ok()) return;
  const data::Verification verified = data::verify({&*lines, 1}, 1000);
  EDL_CHECK(verified.steps <= lines->size());
}

void read_json(ConstBytes bytes) {
  const auto json = parse_json(text_of(bytes));
  if (!json.ok()) return;
  (void)checkpoint::manifest_from(*json);
  if (const auto state = checkpoint::state_from(*json); state.ok()) {
    EDL_CHECK(checkpoint::state_from(Json(*state)).value() == *state);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ConstBytes bytes = tests::FuzzInput(data, size).rest();
  read_tensors(bytes);
  read_lines(bytes);
  read_records(bytes);
  read_json(bytes);
  (void)checkpoint::parse_interval_rule(text_of(bytes));
  return 0;
}
