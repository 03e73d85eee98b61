// Records of files, for programs in other languages.
#include <charconv>

#include "edl/base/text.h"
#include "edl/capi/handles.h"
#include "edl/data/record_files.h"

using edl::Code;
using edl::Error;
using edl::Result;
using edl::capi::last_message;
using edl::capi::told;
using edl::data::RecordFormat;

struct edl_records {
  edl::data::RecordFiles files;
};

namespace {

constexpr std::string_view kFixed = "fixed:";

Result<RecordFormat> format_from(std::string_view word) {
  if (word == "lines") return edl::data::text_lines();
  if (word == "tfrecord") return edl::data::tfrecords();
  if (word == "length32") return edl::data::length_prefixed();
  std::uint64_t bytes = 0;
  const char* const end = word.data() + word.size();
  const bool is_fixed = word.starts_with(kFixed);
  if (is_fixed && std::from_chars(word.data() + kFixed.size(), end, bytes).ptr == end) {
    return edl::data::fixed_records(bytes);
  }
  return Error{Code::kInvalid, edl::text("there is no format ", word,
                                         ": lines, fixed:BYTES, tfrecord and length32 are known")};
}

Result<edl_records*> open_records(const char* const* paths, uint64_t count, const char* format) {
  if (paths == nullptr || format == nullptr) {
    return Error{Code::kInvalid, "edl_records_open needs paths and a format"};
  }
  EDL_TRY(const RecordFormat read, format_from(format));
  EDL_TRY(auto files,
          edl::data::record_files(std::vector<std::string>(paths, paths + count), read));
  return new edl_records{std::move(files)};
}

}  // namespace

edl_records* edl_records_open(const char* const* paths, uint64_t count, const char* format) {
  const auto opened = open_records(paths, count, format);
  if (opened.ok()) return *opened;
  last_message() = opened.error().message;
  return nullptr;
}

void edl_records_free(edl_records* records) { delete records; }

uint64_t edl_records_count(const edl_records* records) {
  return records == nullptr ? 0 : records->files.records();
}

edl_code edl_records_read(const edl_records* records, uint64_t number, edl_record* record) {
  if (number >= edl_records_count(records) || record == nullptr) {
    return told(Error{Code::kInvalid, edl::text("there is no record ", number, "; there are ",
                                                edl_records_count(records))});
  }
  const auto read = records->files.read(number);
  if (!read.ok()) return told(read.error());
  const auto& partitions = records->files.partitions();
  const auto behind =
      std::ranges::upper_bound(partitions, number, {}, [](const auto& one) { return one.first; });
  *record = {.bytes = read->bytes.data(),
             .length = read->bytes.size(),
             .file = std::prev(behind)->file.c_str(),
             .from = read->place.from,
             .to = read->place.to};
  return EDL_OK;
}
