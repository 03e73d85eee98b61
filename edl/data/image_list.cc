#include "edl/data/image_list.h"

#include <algorithm>
#include <array>
#include <map>

#include "edl/base/text.h"
#include "edl/os/folder.h"

namespace edl::data {
namespace {

constexpr std::size_t kClassesMax = 1'000'000;

bool is_hidden(const os::FolderEntry& entry) { return entry.name.starts_with('.'); }

Result<void> check(const std::string& path, const os::FolderEntry& entry,
                   const ImageListLimits& limits) {
  if (entry.is_folder) {
    return Error{Code::kInvalid,
                 text(path, " is a folder inside of a class; put its images into the class")};
  }
  if (!is_image_name(entry.name)) {
    return Error{Code::kInvalid,
                 text(path, " is no image: names end with .jpg, .jpeg or .png. Take it away, or ",
                      "let its name begin with a dot")};
  }
  if (entry.bytes <= limits.file_bytes_max) return {};
  return Error{Code::kExhausted, text(path, " has ", entry.bytes, " bytes; the limit is ",
                                      limits.file_bytes_max, " (file_bytes_max)")};
}

Result<void> add_class(ImageList& list, const ImageListLimits& limits) {
  const auto label = static_cast<std::uint32_t>(list.classes.size() - 1);
  const std::string folder = text(list.folder, "/", list.classes.back());
  const std::size_t before = list.files.size();
  EDL_TRY(const auto entries, os::list_folder(folder, limits.files_max));
  for (const os::FolderEntry& entry : entries) {
    if (is_hidden(entry)) continue;
    EDL_TRY(check(text(folder, "/", entry.name), entry, limits));
    list.files.push_back({entry.name, label});
  }
  if (list.files.size() > limits.files_max) {
    return Error{Code::kExhausted, text(list.folder, " holds more images than the limit of ",
                                        limits.files_max, " (files_max)")};
  }
  if (list.files.size() > before) return {};
  return Error{Code::kInvalid,
               text("the class ", folder, " has no images: add some, or remove it")};
}

}  // namespace

std::string ImageList::path(std::size_t i) const {
  const ImageFile& file = files[i];
  if (file.name.starts_with('/')) return file.name;
  return text(folder, "/", classes[file.label], "/", file.name);
}

bool is_image_name(std::string_view name) {
  static constexpr std::array<std::string_view, 3> kEndings{".jpg", ".jpeg", ".png"};
  const auto is_same = [](char a, char b) {
    return a == b || (a >= 'A' && a <= 'Z' && a - 'A' + 'a' == b);
  };
  return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) {
    return name.size() > ending.size() && std::equal(ending.rbegin(), ending.rend(), name.rbegin(),
                                                     [&](char b, char a) { return is_same(a, b); });
  });
}

Result<ImageList> list_images(const std::string& folder, const ImageListLimits& limits) {
  ImageList list{.folder = folder};
  EDL_TRY(const auto entries, os::list_folder(folder, kClassesMax));
  for (const os::FolderEntry& entry : entries) {
    if (!entry.is_folder || is_hidden(entry)) continue;
    list.classes.push_back(entry.name);
    EDL_TRY(add_class(list, limits));
  }
  if (!list.classes.empty()) return list;
  return Error{Code::kInvalid, text(folder, " has no classes: put the images of each class into ",
                                    "a folder of its own there")};
}

Result<ImageList> list_images(const Fetched& files) {
  std::map<std::string, std::map<std::string, std::string>> paths;  // by class, by name
  for (const FetchedFile& file : files.files) {
    const std::size_t slash = file.name.find('/');
    const bool has_class = slash != std::string::npos && slash == file.name.rfind('/');
    if (!has_class || !is_image_name(file.name)) {
      return Error{Code::kInvalid, text(file.name, " is no image of a class: write its name as ",
                                        "CLASS/FILE.jpg, CLASS/FILE.jpeg or CLASS/FILE.png")};
    }
    paths[file.name.substr(0, slash)][file.name.substr(slash + 1)] = file.path;
  }
  ImageList list;
  for (const auto& [name, images] : paths) {
    const auto label = static_cast<std::uint32_t>(list.classes.size());
    list.classes.push_back(name);
    for (const auto& [file, path] : images) list.files.push_back({path, label});
  }
  return list;
}

}  // namespace edl::data
