#include "edl/data/stream_folder.h"

#include <algorithm>

#include "edl/base/text.h"

namespace edl::data {
namespace {

Error in_file(const std::string& path, const Error& error) {
  return {error.code, text(path, ": ", error.message)};
}

}  // namespace

StreamFolder::StreamFolder(std::string folder, StreamOptions options)
    : folder_(std::move(folder)), options_(std::move(options)) {}

Result<StreamFolder::Listing> StreamFolder::list() const {
  EDL_TRY(const auto entries, os::list_folder(folder_, kRecordFilesMax));
  Listing out;
  for (const os::FolderEntry& entry : entries) {
    if (entry.is_folder || entry.name.starts_with('.')) continue;
    if (entry.name == options_.end_file) {
      out.has_end = true;
    } else if (fits_pattern(entry.name, options_.pattern)) {
      out.files.push_back(entry);
    }
  }
  return out;
}

Result<void> StreamFolder::refuse_late(const Listing& listing, const std::string& last) const {
  for (const os::FolderEntry& entry : listing.files) {
    if (entry.name >= last) break;
    const auto read = ends_.find(entry.name);
    if (entry.bytes <= (read == ends_.end() ? 0 : read->second)) continue;
    return Error{Code::kInvalid,
                 text(path(entry.name), ": came, or grew, after ", last,
                      " was begun, and records of a stream are in the order of the names of their "
                      "files: give what is new a name behind ",
                      last)};
  }
  return {};
}

Result<std::optional<Partition>> StreamFolder::scan(const std::string& name, std::uint64_t from,
                                                    Ending ending) const {
  EDL_TRY(const auto file, os::MappedFile::open(path(name)));
  const auto index =
      RecordIndex::scan(file->bytes(), from, options_.format, ending, options_.partition);
  if (!index.ok()) return in_file(path(name), index.error());
  if (index->count() == 0) return std::optional<Partition>();
  return std::optional(
      Partition{.file = name, .from = from, .to = index->to(), .count = index->count()});
}

Result<StreamFolder::Found> StreamFolder::look(const Partition* last) {
  EDL_TRY(Listing listing, list());
  // What came before the mark may have been passed already when the mark was seen.
  if (listing.has_end) {
    EDL_TRY(listing, list());
  }
  if (last != nullptr) EDL_TRY(refuse_late(listing, last->file));
  for (std::size_t i = 0; i < listing.files.size(); ++i) {
    const std::string& name = listing.files[i].name;
    if (last != nullptr && name < last->file) continue;
    const bool is_whole = listing.has_end || i + 1 < listing.files.size();
    const std::uint64_t from = last != nullptr && name == last->file ? last->to : 0;
    EDL_TRY(auto found, scan(name, from, is_whole ? Ending::kWhole : Ending::kGrows));
    if (found) return Found{.partition = std::move(found)};
    if (!is_whole) return Found{};
  }
  return Found{.has_ended = listing.has_end};
}

Result<void> StreamFolder::add(const Partition& partition) {
  EDL_TRY(list_.add(partition));
  ends_[partition.file] = partition.to;
  return {};
}

// One after the other, as a stream is read, the few that are used are always here.
Result<const StreamFolder::Indexed*> StreamFolder::indexed(std::size_t at) {
  const auto known = std::find_if(indexed_.begin(), indexed_.end(),
                                  [at](const Indexed& one) { return one.at == at; });
  if (known != indexed_.end()) return &*known;
  const Partition& partition = list_.all()[at];
  EDL_TRY(const auto file, os::MappedFile::open(path(partition.file)));
  const auto bytes = file->bytes();
  if (bytes.size() < partition.to) {
    return Error{Code::kCorrupt, text(path(partition.file), ": has ", bytes.size(),
                                      " bytes here, but had ", partition.to, " when its records ",
                                      "were counted; files of a stream must not become shorter")};
  }
  auto index = RecordIndex::scan(bytes.first(partition.to), partition.from, options_.format,
                                 Ending::kWhole, {.records_max = partition.count});
  if (!index.ok()) return in_file(path(partition.file), index.error());
  if (index->count() != partition.count || index->to() != partition.to) {
    return Error{Code::kCorrupt,
                 text(path(partition.file), ": has other records at bytes ", partition.from, " to ",
                      partition.to, " than when they were counted; it must not be changed")};
  }
  indexed_.push_front({at, file, std::move(index).value()});
  if (indexed_.size() > kIndexedMax) indexed_.pop_back();
  return &indexed_.front();
}

Result<Record> StreamFolder::read(std::uint64_t record) {
  const std::size_t at = list_.find(record);
  const Partition& partition = list_.all()[at];
  const std::string where = path(partition.file);
  EDL_TRY(const Indexed* const found, indexed(at));
  const ConstBytes bytes = found->file->bytes().first(partition.to);
  const auto frame = found->index.frame(bytes, record - partition.first, options_.format);
  if (!frame.ok()) return in_file(where, frame.error());
  const auto checked = checked_record(*frame, bytes, options_.format);
  if (!checked.ok()) return in_file(where, checked.error());
  return Record{*checked, {where, frame->from, frame->to}};
}

}  // namespace edl::data
