#include "edl/checkpoint/safetensors.h"

#include <algorithm>

#include "edl/base/json.h"

namespace edl::checkpoint {
namespace {

constexpr std::uint64_t kHeaderBytesMax = 100'000'000;  // what other readers allow
constexpr std::size_t kLengthBytes = 8;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string out;
  for (const std::int64_t size : shape) out += text(out.empty() ? "" : ",", size);
  return out;
}

Error damaged(std::string_view why) {
  return {Code::kCorrupt, text("this is not a safetensors file: ", why)};
}

Result<TensorPlace> read_place(const Json& json, std::uint64_t data_begin, std::uint64_t size) {
  JsonReader in(json, "tensor");
  std::string dtype;
  std::vector<std::uint64_t> offsets;
  TensorPlace place;
  in.read("dtype", dtype);
  in.read("shape", place.shape);
  in.read("data_offsets", offsets);
  EDL_TRY(in.finish());
  EDL_TRY(place.dtype, parse_dtype(dtype));
  EDL_TRY(const std::uint64_t bytes, tensor_bytes(place.dtype, place.shape));
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > size - data_begin ||
      offsets[1] - offsets[0] != bytes) {
    return damaged("a tensor's place does not fit its shape or the file");
  }
  place.begin = data_begin + offsets[0];
  place.end = data_begin + offsets[1];
  return place;
}

}  // namespace

Result<std::string> safetensors_header(std::vector<Tensor>& tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  std::string json = "{";
  std::uint64_t offset = 0;
  const std::string* before = nullptr;
  for (const Tensor& tensor : tensors) {
    EDL_TRY(validate(tensor));
    if (before != nullptr && *before == tensor.name) {
      return Error{Code::kInvalid, text("tensor ", tensor.name, " comes twice")};
    }
    const std::uint64_t end = offset + tensor.bytes.size();
    json += text(before == nullptr ? "" : ",", json_line(tensor.name), ":{\"dtype\":\"",
                 dtype_name(tensor.dtype), "\",\"shape\":[", shape_text(tensor.shape),
                 "],\"data_offsets\":[", offset, ",", end, "]}");
    offset = end;
    before = &tensor.name;
  }
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  std::string header(kLengthBytes, '\0');
  store_int(reinterpret_cast<std::byte*>(header.data()), static_cast<std::uint64_t>(json.size()));
  return header + json;
}

Result<std::map<std::string, TensorPlace>> read_safetensors_header(os::File& file) {
  EDL_TRY(const std::uint64_t size, file.size());
  std::array<std::byte, kLengthBytes> length{};
  EDL_TRY(const std::size_t read, file.read_at(0, length));
  if (read < length.size()) return damaged("it is shorter than a header");
  const auto header_bytes = load_int<std::uint64_t>(length.data());
  if (header_bytes > kHeaderBytesMax || header_bytes > size - kLengthBytes) {
    return damaged("its header is longer than the file");
  }
  std::string header(header_bytes, '\0');
  EDL_TRY(const std::size_t got,
          file.read_at(kLengthBytes, std::as_writable_bytes(std::span(header))));
  if (got < header.size()) return damaged("its header is cut off");
  EDL_TRY(const Json json, parse_json(header, {.bytes_max = kHeaderBytesMax}));
  if (!json.is_object()) return damaged("its header is not an object");
  std::map<std::string, TensorPlace> places;
  for (const auto& [name, entry] : json.items()) {
    if (name == "__metadata__") continue;
    EDL_TRY(places[name], read_place(entry, kLengthBytes + header_bytes, size));
  }
  return places;
}

Result<void> write_safetensors(HashedWriter& out, std::vector<Tensor> tensors) {
  EDL_TRY(const std::string header, safetensors_header(tensors));
  EDL_TRY(out.add(bytes_of(header)));
  for (const Tensor& tensor : tensors) EDL_TRY(out.add(tensor.bytes));
  return out.finish();
}

}  // namespace edl::checkpoint
