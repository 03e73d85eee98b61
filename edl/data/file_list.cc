#include "edl/data/file_list.h"

#include <algorithm>
#include <set>

#include "edl/base/json.h"
#include "edl/data/source.h"

namespace edl::data {
namespace {

constexpr std::size_t kNameMax = 4096;
constexpr std::size_t kSumLetters = 64;

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > kNameMax || name.find('\0') != std::string_view::npos) {
    return false;
  }
  const auto words = split(name, '/');
  return std::none_of(words.begin(), words.end(), [](std::string_view word) {
    return word.empty() || word == "." || word == "..";
  });
}

Result<WantedFile> file_from(const Json& json, const std::string& folder) {
  WantedFile file;
  JsonReader in(json, "file");
  in.read("name", file.name);
  in.read("url", file.url);
  in.read_optional("bytes", file.bytes);
  in.read_optional("sha256", file.sha256);
  EDL_TRY(in.finish());
  if (!is_name(file.name)) {
    return Error{Code::kInvalid, text("\"", file.name.substr(0, 200),
                                      "\" is no name: write a path without . and .. in it")};
  }
  EDL_TRY(const Source source, parse_source(file.url));
  if (source.kind == Source::Kind::kPath && !file.url.starts_with('/')) {
    file.url = text(folder, "/", file.url);
  }
  const bool is_fetched = source.kind != Source::Kind::kPath;
  if (!file.sha256.empty() || is_fetched) {
    if (const std::string problem = sha256_problem(file.sha256); !problem.empty()) {
      return Error{Code::kInvalid, text(file.name, ": ", problem)};
    }
  }
  return file;
}

}  // namespace

std::string sha256_problem(const std::string& sum) {
  const bool is_hex = std::all_of(sum.begin(), sum.end(), [](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
  });
  if (is_hex && sum.size() == kSumLetters) return "";
  return text("\"", sum.substr(0, 80), "\" is no SHA-256: it has ", kSumLetters,
              " digits 0 to 9 and a to f");
}

Result<std::vector<WantedFile>> parse_file_list(std::string_view json, const std::string& folder) {
  EDL_TRY(const Json parsed, parse_json(json, {.bytes_max = kFileListBytesMax}));
  std::vector<WantedFile> files;
  JsonReader in(parsed, "file list");
  in.read_list("files", files, [&](const Json& file) { return file_from(file, folder); });
  EDL_TRY(in.finish());
  if (files.empty() || files.size() > kFilesMax) {
    return Error{Code::kInvalid,
                 text("it names ", files.size(), " files, and may name 1 to ", kFilesMax)};
  }
  std::set<std::string_view> names;
  for (const WantedFile& file : files) {
    if (names.insert(file.name).second) continue;
    return Error{Code::kInvalid, text("it names ", file.name, " twice")};
  }
  return files;
}

}  // namespace edl::data
