// The pictures of a folder with one folder in it for each class, in an order that no file system
// has a say in: classes by the bytes of their names, then the names of their files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edl/base/result.h"
#include "edl/data/fetched.h"

namespace edl::data {

struct ImageFile {
  std::string name;         // in the folder of its class, or a path from / on
  std::uint32_t label = 0;  // place of its class
};

struct ImageList {
  std::string folder{};
  std::vector<std::string> classes{};
  std::vector<ImageFile> files{};

  std::string path(std::size_t i) const;
};

struct ImageListLimits {
  std::uint64_t files_max = 10'000'000;
  std::uint64_t file_bytes_max = std::uint64_t{256} << 20;
};

// Looks at names and sizes only. Passed over are names that begin with a dot, and files beside the
// folders of the classes. Refused are classes without pictures, and what does not end with .jpg,
// .jpeg or .png.
Result<ImageList> list_images(const std::string& folder, const ImageListLimits& limits = {});

// Of files that were fetched, whose names are CLASS/FILE; in the same order.
Result<ImageList> list_images(const Fetched& files);

// "a/b.JPG": whether the name says that it is a picture.
bool is_image_name(std::string_view name);

}  // namespace edl::data
