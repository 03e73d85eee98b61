// The files of a data set in one small JSON file, so that a data set of many files is one argument:
//   {"files":[{"name":"train/a.npy","url":"http://...","bytes":123,"sha256":"..."}]}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edl/base/result.h"

namespace edl::data {

struct WantedFile {
  std::string name{};
  std::string url{};                     // or a path
  std::optional<std::uint64_t> bytes{};  // when it is known before
  std::string sha256{};                  // lower-case hex; empty: not checked
};

constexpr std::size_t kFileListBytesMax = std::size_t{64} << 20;
constexpr std::size_t kFilesMax = 200'000;

// Names are paths without . and .., none twice. What is fetched needs a sum; a path may do without.
// A path that does not begin with / is one from `folder` on.
Result<std::vector<WantedFile>> parse_file_list(std::string_view json, const std::string& folder);

// Empty when it is a sum in lower-case hex.
std::string sha256_problem(const std::string& sum);

}  // namespace edl::data
