#include "edl/data/views_file.h"

#include <algorithm>

#include "edl/base/text.h"
#include "edl/data/lines.h"

namespace edl::data {
namespace {

constexpr std::size_t kLineBytesMax = 8 << 20;
constexpr std::size_t kViewsMax = 1'000'000;

struct Found {
  std::vector<model::View> views{};
  std::uint64_t bytes = 0;  // of whole lines
};

Result<Found> read(os::File& file, const std::string& path) {
  Found found;
  LineReader lines(file, kLineBytesMax);
  const auto corrupt = [&](const Error& error) {
    return Error{Code::kCorrupt, text(path, ", line ", lines.line_number(), ": ", error.message)};
  };
  for (;;) {
    EDL_TRY(const auto line, lines.next());
    if (!line) return found;
    const auto json = parse_json(*line, {.bytes_max = kLineBytesMax});
    if (!json.ok()) {
      const Error wrong = corrupt(json.error());
      // A power cut may keep the end of the last line and lose what is before it.
      const bool has_hole = line->find('\0') != std::string_view::npos;
      EDL_TRY(const auto more, lines.next());
      if (has_hole && !more) return found;
      return wrong;
    }
    auto view = model::view_from(*json);
    if (!view.ok()) return corrupt(view.error());
    if (found.views.size() == kViewsMax) {
      return corrupt({Code::kExhausted, text("there are more than ", kViewsMax, " views")});
    }
    found.views.push_back(std::move(*view));
    found.bytes += line->size() + 1;
  }
}

}  // namespace

Result<std::unique_ptr<ViewsFile>> ViewsFile::open(os::Disk& disk, const std::string& path) {
  EDL_TRY(auto file, disk.open(path, os::Open::kWrite));
  EDL_TRY(const Found found, read(*file, path));
  EDL_TRY(file->truncate(found.bytes));
  std::unique_ptr<ViewsFile> out(new ViewsFile(std::move(file)));
  out->end_ = found.bytes;
  for (const model::View& view : found.views) {
    out->newest_ = std::max(out->newest_, view.generation);
  }
  return out;
}

Result<void> ViewsFile::append(const model::View& view) {
  if (view.generation <= newest_) return {};
  const std::string line = json_line(Json(view)) + "\n";
  EDL_TRY(file_->write_at(end_, bytes_of(line)));
  EDL_TRY(file_->sync());
  end_ += line.size();
  newest_ = view.generation;
  return {};
}

Result<std::vector<model::View>> read_views(os::Disk& disk, const std::string& path) {
  EDL_TRY(const auto file, disk.open(path, os::Open::kRead));
  EDL_TRY(Found found, read(*file, path));
  return std::move(found.views);
}

}  // namespace edl::data
