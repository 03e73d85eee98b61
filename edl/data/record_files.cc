#include "edl/data/record_files.h"

#include <algorithm>

#include "edl/base/text.h"
#include "edl/os/folder.h"

namespace edl::data {
namespace {

Error in_file(const std::string& path, const Error& error) {
  return {error.code, text(path, ": ", error.message)};
}

}  // namespace

bool fits_pattern(std::string_view name, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t in_pattern = 0;
  std::size_t star = std::string_view::npos;  // the last one, and how far it reaches
  std::size_t reach = 0;
  while (at < name.size()) {
    const bool is_there = in_pattern < pattern.size();
    if (is_there && pattern[in_pattern] == '*') {
      star = in_pattern++;
      reach = at;
    } else if (is_there && (pattern[in_pattern] == '?' || pattern[in_pattern] == name[at])) {
      ++in_pattern;
      ++at;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      at = ++reach;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

Result<void> RecordFiles::add(const std::string& path, const MakeIndex& make) {
  EDL_TRY(const auto file, os::MappedFile::open(path));
  auto index = make ? make(path, file->bytes())
                    : RecordIndex::scan(file->bytes(), 0, format_, Ending::kWhole);
  if (!index.ok()) return in_file(path, index.error());
  if (index->count() == 0) return {};
  EDL_TRY(list_.add({.file = path,
                     .from = 0,
                     .to = index->to(),
                     .first = list_.records(),
                     .count = index->count()}));
  opened_.push_back({file, std::move(index).value()});
  return {};
}

Result<RecordFiles> RecordFiles::open(const std::vector<std::string>& paths,
                                      const RecordFormat& format, const MakeIndex& make) {
  EDL_TRY(validate(format));
  if (paths.empty()) return Error{Code::kInvalid, "a data set of no files has no records"};
  if (paths.size() > kRecordFilesMax) {
    return Error{Code::kExhausted, text("a data set of ", paths.size(), " files: the limit is ",
                                        kRecordFilesMax, ". Put more records into each")};
  }
  RecordFiles out(format);
  for (const std::string& path : paths) EDL_TRY(out.add(path, make));
  if (out.records() > 0) return out;
  return Error{Code::kInvalid, text(paths.front(), ": has no records, nor have the ",
                                    paths.size() - 1, " files behind it")};
}

Result<Frame> RecordFiles::frame(std::uint64_t record, std::size_t at) const {
  const Opened& opened = opened_[at];
  auto found = opened.index.frame(opened.file->bytes(), record - list_.all()[at].first, format_);
  if (!found.ok()) return in_file(list_.all()[at].file, found.error());
  return found;
}

Result<Record> RecordFiles::read(std::uint64_t record) const {
  const std::size_t at = list_.find(record);
  EDL_TRY(const Frame found, frame(record, at));
  const std::string& path = list_.all()[at].file;
  const auto bytes = checked_record(found, opened_[at].file->bytes(), format_);
  if (!bytes.ok()) return in_file(path, bytes.error());
  return Record{*bytes, {path, found.from, found.to}};
}

Result<Place> RecordFiles::place(std::uint64_t record) const {
  const std::size_t at = list_.find(record);
  EDL_TRY(const Frame found, frame(record, at));
  return Place{list_.all()[at].file, found.from, found.to};
}

Result<RecordFiles> record_files(std::vector<std::string> paths, const RecordFormat& format) {
  std::sort(paths.begin(), paths.end());
  const auto twice = std::adjacent_find(paths.begin(), paths.end());
  if (twice == paths.end()) return RecordFiles::open(paths, format);
  return Error{Code::kInvalid, text(*twice, ": is given twice")};
}

Result<std::vector<std::string>> record_paths(const std::string& folder,
                                              const std::string& pattern) {
  EDL_TRY(const auto entries, os::list_folder(folder, kRecordFilesMax));
  std::vector<std::string> paths;
  for (const os::FolderEntry& entry : entries) {
    if (entry.is_folder || entry.name.starts_with('.')) continue;
    if (fits_pattern(entry.name, pattern)) paths.push_back(text(folder, "/", entry.name));
  }
  if (!paths.empty()) return paths;
  return Error{Code::kNotFound, text(folder, ": no file in it fits \"", pattern, "\"")};
}

Result<RecordFiles> record_files(const std::string& folder, const std::string& pattern,
                                 const RecordFormat& format) {
  EDL_TRY(const std::vector<std::string> paths, record_paths(folder, pattern));
  return RecordFiles::open(paths, format);
}

Result<RecordFiles> record_files(const Fetched& files, const RecordFormat& format) {
  std::vector<FetchedFile> sorted = files.files;
  std::sort(sorted.begin(), sorted.end(),
            [](const FetchedFile& a, const FetchedFile& b) { return a.name < b.name; });
  std::vector<std::string> paths;
  for (const FetchedFile& file : sorted) paths.push_back(file.path);
  return RecordFiles::open(paths, format);
}

}  // namespace edl::data
