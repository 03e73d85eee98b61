// Data sets of pictures in files. A picture is read and decoded when a batch asks for it; the job
// begins with a look at names and sizes only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "edl/data/image_list.h"
#include "edl/torch/dataset.h"

namespace edl::torch {

struct ImageOptions {
  std::uint32_t width = 0;  // of x: pictures are stretched to it
  std::uint32_t height = 0;
  std::uint32_t channels = 3;                          // or 1: grey
  std::uint64_t pixels_max = std::uint64_t{64} << 20;  // of a picture in its file
  data::ImageListLimits limits{};
};

// A folder with a folder of JPEG and PNG files for each class. Sample i is file i, by the names of
// the classes and then of the files: x is float32 in [0, 1] of channels x height x width, y the
// place of its class. A file that cannot be decoded ends the step that asks for it.
//
//   image_folder("flowers/train", {.width = 224, .height = 224})
Result<std::shared_ptr<const Dataset>> image_folder(const std::string& path,
                                                    const ImageOptions& options);

// The names of its classes, in the order of y.
Result<std::vector<std::string>> image_classes(const std::string& path);

// The same of files that were fetched, whose names are CLASS/FILE.
Result<std::shared_ptr<const Dataset>> images(const data::Fetched& files,
                                              const ImageOptions& options);
// And of files that were listed elsewhere.
Result<std::shared_ptr<const Dataset>> images(data::ImageList list, const ImageOptions& options);

}  // namespace edl::torch
