#include "edl/torch/images.h"

#include "edl/base/text.h"
#include "edl/data/image.h"
#include "edl/data/resize.h"
#include "edl/os/mapped_file.h"

namespace edl::torch {
namespace {

constexpr std::uint32_t kSideMax = 16'384;

// Channel by channel, each number divided by 255.
void write_planes(const data::Image& image, float* to) {
  const std::size_t pixels = std::size_t{image.size.width} * image.size.height;
  for (std::size_t c = 0; c < image.channels; ++c) {
    const std::byte* from = image.pixels.data() + c;
    for (std::size_t i = 0; i < pixels; ++i, from += image.channels) {
      *to++ = static_cast<float>(std::to_integer<int>(*from)) / 255.0F;
    }
  }
}

class Images final : public Dataset {
 public:
  Images(data::ImageList list, const ImageOptions& options)
      : list_(std::move(list)), options_(options) {}

  std::uint64_t size() const override { return list_.files.size(); }
  bool is_costly() const override { return true; }

  Result<Batch> batch(std::span<const std::uint64_t> samples, const Draw&) const override {
    const auto count = static_cast<std::int64_t>(samples.size());
    Batch out{::torch::empty({count, options_.channels, options_.height, options_.width}),
              ::torch::empty({count}, ::torch::kInt64)};
    float* x = out.x.data_ptr<float>();
    std::int64_t* y = out.y.data_ptr<std::int64_t>();
    for (const std::uint64_t sample : samples) {
      EDL_TRY(const data::Image image, read(sample));
      write_planes(image, x);
      x += image.pixels.size();
      *y++ = list_.files[sample].label;
    }
    return out;
  }

 private:
  Result<data::Image> read(std::uint64_t sample) const {
    const std::string path = list_.path(sample);
    EDL_TRY(const auto file, os::MappedFile::open(path));
    const ConstBytes bytes = file->bytes();
    if (bytes.size() > options_.limits.file_bytes_max) {
      return Error{Code::kExhausted, text(path, ": has ", bytes.size(), " bytes; the limit is ",
                                          options_.limits.file_bytes_max)};
    }
    auto image = data::decode_image(bytes, options_.pixels_max);
    if (!image.ok()) return Error{image.error().code, text(path, ": ", image.error().message)};
    return data::resized(data::with_channels(std::move(image).value(), options_.channels),
                         {options_.width, options_.height});
  }

  const data::ImageList list_;
  const ImageOptions options_;
};

Result<void> check(const ImageOptions& options) {
  const auto is_side = [](std::uint32_t side) { return side >= 1 && side <= kSideMax; };
  if (!is_side(options.width) || !is_side(options.height)) {
    return Error{Code::kInvalid,
                 text("images of ", options.width, " x ", options.height,
                      " are asked for: width and height are between 1 and ", kSideMax)};
  }
  if (options.channels == 1 || options.channels == 3) return {};
  return Error{Code::kInvalid, text("images of ", options.channels,
                                    " channels are asked for: 1 is grey, 3 is in colours")};
}

}  // namespace

Result<std::shared_ptr<const Dataset>> images(data::ImageList list, const ImageOptions& options) {
  EDL_TRY(check(options));
  return std::make_shared<const Images>(std::move(list), options);
}

Result<std::shared_ptr<const Dataset>> image_folder(const std::string& path,
                                                    const ImageOptions& options) {
  EDL_TRY(check(options));
  EDL_TRY(data::ImageList list, data::list_images(path, options.limits));
  return images(std::move(list), options);
}

Result<std::shared_ptr<const Dataset>> images(const data::Fetched& files,
                                              const ImageOptions& options) {
  EDL_TRY(data::ImageList list, data::list_images(files));
  return images(std::move(list), options);
}

Result<std::vector<std::string>> image_classes(const std::string& path) {
  EDL_TRY(data::ImageList list, data::list_images(path));
  return std::move(list.classes);
}

}  // namespace edl::torch
