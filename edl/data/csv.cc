#include "edl/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "edl/base/text.h"

namespace edl::data {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct Line {
  std::uint64_t number = 0;  // from 1
  std::string_view text{};
};

// Of a field; its column is counted from 0.
Error wrong(const Line& line, std::size_t column, std::string_view what) {
  return {Code::kInvalid, text("line ", line.number, ", column ", column + 1, ": ", what)};
}

std::string shown(std::string_view field) {
  constexpr std::size_t kShownMax = 40;
  const bool is_long = field.size() > kShownMax;
  return text('"', field.substr(0, kShownMax), is_long ? "...\"" : "\"");
}

// Whether all of the field is such a number, and it fits.
template <class Value>
bool read(std::string_view field, Value& value) {
  if (field.starts_with('+')) field.remove_prefix(1);
  const char* const end = field.data() + field.size();
  const auto [stop, failed] = std::from_chars(field.data(), end, value);
  return failed == std::errc() && stop == end;
}

bool narrow(double wide, float& value) {
  value = static_cast<float>(wide);
  return std::isinf(value) == std::isinf(wide);
}

template <class Value>
void append(Bytes& out, Value value) {
  const ConstBytes bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

class Table {
 public:
  explicit Table(const CsvOptions& options) : options_(options) {}

  Result<void> add(const Line& line) {
    fields_ = split(line.text, options_.separator);
    if (rows_ == 0) EDL_TRY(begin(line));
    if (fields_.size() != width_) {
      return Error{Code::kInvalid, text("line ", line.number, ": has ", fields_.size(),
                                        " columns, but the first row has ", width_)};
    }
    for (const std::size_t column : columns_) EDL_TRY(add_field(line, column));
    ++rows_;
    return {};
  }
  Result<Array> take() {
    if (rows_ == 0) return Error{Code::kInvalid, "has no rows of numbers"};
    Shape shape{rows_};
    if (options_.columns.size() != 1) shape.push_back(columns_.size());
    const auto owned = std::make_shared<const Bytes>(std::move(out_));
    EDL_TRY(Array array, array_over(options_.dtype, std::move(shape), *owned));
    array.owner = owned;
    return array;
  }

 private:
  Result<void> begin(const Line& line) {
    width_ = fields_.size();
    columns_ = options_.columns;
    for (std::size_t i = 0; columns_.size() < width_ && options_.columns.empty(); ++i) {
      columns_.push_back(i);
    }
    for (const std::size_t column : columns_) {
      if (column < width_) continue;
      return Error{Code::kInvalid, text("line ", line.number, ": has ", width_,
                                        " columns; there is no column ", column + 1)};
    }
    return {};
  }
  Result<void> add_field(const Line& line, std::size_t column) {
    std::string_view field = trim(fields_[column]);
    if (field.size() >= 2 && field.front() == '"' && field.back() == '"') {
      field = trim(field.substr(1, field.size() - 2));
    }
    if (options_.dtype == Dtype::kI64) {
      std::int64_t whole = 0;
      if (!read(field, whole)) return not_a_number(line, column, field, "a whole number");
      append(out_, whole);
      return {};
    }
    double wide = 0;
    float narrowed = 0;
    if (!read(field, wide)) return not_a_number(line, column, field, "a number");
    if (options_.dtype == Dtype::kF64) {
      append(out_, wide);
    } else if (narrow(wide, narrowed)) {
      append(out_, narrowed);
    } else {
      return wrong(line, column, text(shown(field), " is too large for float32; read it as kF64"));
    }
    return {};
  }
  Error not_a_number(const Line& line, std::size_t column, std::string_view field,
                     std::string_view wanted) const {
    const bool may_be_header = rows_ == 0 && !options_.has_header;
    return wrong(line, column,
                 text(shown(field), " is not ", wanted,
                      may_be_header ? "; if this line names the columns, set has_header" : ""));
  }

  const CsvOptions& options_;
  std::size_t width_ = 0;  // fields of every line
  std::vector<std::size_t> columns_{};
  std::vector<std::string_view> fields_{};  // of the present line
  std::uint64_t rows_ = 0;
  Bytes out_{};
};

}  // namespace

Result<Array> parse_csv(std::string_view words, const CsvOptions& options) {
  if (options.dtype != Dtype::kF32 && options.dtype != Dtype::kF64 &&
      options.dtype != Dtype::kI64) {
    return Error{Code::kInvalid,
                 text("is read as float32, float64 or int64, not as ", dtype_name(options.dtype))};
  }
  if (words.size() > options.bytes_max) {
    return Error{Code::kExhausted,
                 text("has ", words.size(), " bytes; the limit is ", options.bytes_max,
                      " (bytes_max). Save it as NPY, which is "
                      "read where it lies, or raise the limit")};
  }
  if (words.starts_with(kByteOrderMark)) words.remove_prefix(kByteOrderMark.size());
  Table table(options);
  bool is_header = options.has_header;
  for (Line line; !words.empty();) {
    const std::size_t end = std::min(words.find('\n'), words.size());
    line = {line.number + 1, words.substr(0, end)};
    words.remove_prefix(std::min(end + 1, words.size()));
    if (trim(line.text).empty()) continue;
    if (!std::exchange(is_header, false)) EDL_TRY(table.add(line));
  }
  return table.take();
}

}  // namespace edl::data
