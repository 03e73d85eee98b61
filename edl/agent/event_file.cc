#include "edl/agent/event_file.h"

#include <algorithm>

namespace edl::agent {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;

// Calls `take` with each line that has an end; answers where the last one ends.
Result<std::uint64_t> for_each_line(os::File& file,
                                    const std::function<void(std::string_view)>& take) {
  std::string rest;
  std::uint64_t offset = 0;
  std::uint64_t whole = 0;
  Bytes piece(kPieceBytes);
  while (true) {
    EDL_TRY(const std::size_t got, file.read_at(offset, piece));
    if (got == 0) return whole;
    offset += got;
    rest += text_of(ConstBytes(piece).first(got));
    std::size_t begin = 0;
    for (std::size_t end = rest.find('\n'); end != std::string::npos;
         end = rest.find('\n', begin)) {
      take(std::string_view(rest).substr(begin, end - begin));
      begin = end + 1;
    }
    whole += begin;
    rest.erase(0, begin);
  }
}

}  // namespace

Result<std::unique_ptr<EventFile>> EventFile::open(os::Disk& disk, const std::string& path) {
  EDL_TRY(auto file, disk.open(path, os::Open::kWrite));
  EDL_TRY(const std::uint64_t end, for_each_line(*file, [](std::string_view) {}));
  EDL_TRY(file->truncate(end));
  return std::unique_ptr<EventFile>(new EventFile(std::move(file), end));
}

Result<void> EventFile::add(std::string_view line) {
  EDL_TRY(file_->write_at(end_, bytes_of(line)));
  end_ += line.size();
  return {};
}

Result<void> read_events(os::Disk& disk, const std::string& path,
                         const std::function<void(const Json&)>& take) {
  if (!disk.exists(path)) return {};
  EDL_TRY(const auto file, disk.open(path, os::Open::kRead));
  EDL_TRY(for_each_line(*file, [&](std::string_view line) {
    const auto json = parse_json(line);
    if (json.ok() && json->is_object()) take(*json);
  }));
  return {};
}

}  // namespace edl::agent
