#include "edl/torch/images.h"

#include <gtest/gtest.h>

#include "edl/base/text.h"
#include "edl/data/image_bytes_test.h"
#include "edl/data/resize.h"
#include "edl/os/posix/machine.h"
#include "edl/os/posix/system.h"
#include "edl/torch/trained_test.h"

namespace edl::torch {
namespace {

// A folder that is made of files as a test goes, and taken away behind it.
class ImageFolders : public ::testing::Test {
 protected:
  ~ImageFolders() override { remove(folder_); }

  void write(const std::string& name, std::string_view bytes) {
    const std::string path = text(folder_, "/", name);
    EXPECT_TRUE(disk().make_directory(os::parent_directory(path)).ok());
    EXPECT_TRUE(os::replace_file(disk(), path, bytes_of(bytes)).ok());
  }
  // Two classes of three pictures.
  void write_all() {
    write("cat/b.png", data::png_bytes(data::pattern({8, 6}, 3)));
    write("cat/a.jpg", data::jpeg_bytes(data::slope({20, 10}, 3)));
    write("bird/x.png", data::png_bytes(data::pattern({4, 4}, 1)));
  }
  std::string refusal(const ImageOptions& options = {.width = 4, .height = 4}) {
    const auto made = image_folder(folder_, options);
    return made.ok() ? "" : made.error().message;
  }
  os::Disk& disk() { return system_->disk(); }

  const std::string folder_ = text(::testing::TempDir(), "/images-", os::this_machine().pid);

 private:
  void remove(const std::string& path) {
    if (const auto names = disk().list(path); names.ok()) {
      for (const std::string& name : *names) remove(text(path, "/", name));
    }
    (void)disk().remove(path);
  }

  std::unique_ptr<LogSink> sink_ = silent_log_sink();
  std::unique_ptr<os::PosixSystem> system_ = os::posix_system({.log_sink = sink_.get()});
};

TEST_F(ImageFolders, samples_are_in_the_order_of_names_and_labels_are_places_of_classes) {
  write_all();
  write(".hidden/a.png", "");
  write("cat/.hidden", "");
  write("README", "files beside the classes are passed over");
  EXPECT_EQ(image_classes(folder_).value(), (std::vector<std::string>{"bird", "cat"}));
  const auto set = image_folder(folder_, {.width = 8, .height = 6}).value();
  const Batch all = whole(*set).value();
  EXPECT_EQ(all.x.sizes().vec(), (std::vector<std::int64_t>{3, 3, 6, 8}));
  EXPECT_EQ(all.x.scalar_type(), ::torch::kFloat32);
  EXPECT_TRUE(all.y.equal(::torch::tensor({0, 1, 1}, ::torch::kInt64)));
  // cat/b.png is of this size already: its numbers are those of the file.
  const data::Image image = data::pattern({8, 6}, 3);
  for (const auto& [c, y, x] : {std::tuple(0, 0, 1), std::tuple(2, 5, 7), std::tuple(1, 3, 2)}) {
    const auto number = std::to_integer<int>(image.pixels[(y * 8 + x) * 3 + c]);
    EXPECT_EQ(all.x[2][c][y][x].item<float>(), static_cast<float>(number) / 255.0F);
  }
}

TEST_F(ImageFolders, a_sample_does_not_depend_on_its_batch) {
  write_all();
  const auto set = image_folder(folder_, {.width = 5, .height = 7, .channels = 1}).value();
  const Batch all = whole(*set).value();
  const Batch two = set->batch(std::vector<std::uint64_t>{2, 0}, {.seed = 1}).value();
  EXPECT_TRUE(two.x[0].equal(all.x[2]));
  EXPECT_TRUE(two.x[1].equal(all.x[0]));
  EXPECT_TRUE(two.y.equal(::torch::tensor({1, 0}, ::torch::kInt64)));
}

TEST_F(ImageFolders, a_broken_image_is_no_hindrance_at_the_start_and_named_when_it_is_read) {
  write_all();
  write("cat/c.png", "no picture");
  const auto set = image_folder(folder_, {.width = 4, .height = 4}).value();
  EXPECT_TRUE(set->batch(std::vector<std::uint64_t>{0, 1, 2}, {}).ok());
  const auto broken = set->batch(std::vector<std::uint64_t>{0, 3}, {});
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().message, folder_ + "/cat/c.png: is neither JPEG nor PNG");
}

TEST_F(ImageFolders, a_broken_image_ends_the_part_with_a_sentence) {
  write("a/a.png", "no picture");
  Program program = edl::torch::program<Net>(sgd(), loss_of);
  program.data = [this] { return image_folder(folder_, {.width = 4, .height = 4}); };
  const auto trainee = TorchTrainee::make(program, data_of(program.data)).value();
  ASSERT_TRUE(trainee->initialise(1).ok());
  std::vector<Bytes> memory;
  for (const auto& segment : trainee->segments()) memory.emplace_back(segment.count * 8);
  const std::vector<ByteSpan> sums(memory.begin(), memory.end());
  const auto done = trainee->compute({.indices = {0}}, {sums});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().message, folder_ + "/a/a.png: is neither JPEG nor PNG");
}

TEST_F(ImageFolders, what_is_no_image_or_no_class_is_refused_at_the_start) {
  EXPECT_NE(refusal().find("No such file"), std::string::npos);
  write("file.png", "");
  EXPECT_NE(refusal().find("has no classes"), std::string::npos);
  write_all();
  EXPECT_EQ(refusal(), "");
  write("cat/notes.txt", "");
  EXPECT_NE(refusal().find("cat/notes.txt is no image"), std::string::npos);
  ASSERT_TRUE(disk().remove(folder_ + "/cat/notes.txt").ok());
  ASSERT_TRUE(disk().make_directory(folder_ + "/dog").ok());
  EXPECT_NE(refusal().find("dog has no images"), std::string::npos);
  ASSERT_TRUE(disk().make_directory(folder_ + "/dog/puppies").ok());
  EXPECT_NE(refusal().find("dog/puppies is a folder inside of a class"), std::string::npos);
}

TEST_F(ImageFolders, limits_are_kept) {
  write_all();
  EXPECT_NE(refusal({.width = 4, .height = 4, .limits = {.files_max = 2}}).find("limit of 2"),
            std::string::npos);
  EXPECT_NE(refusal({.width = 4, .height = 4, .limits = {.file_bytes_max = 10}}).find("is 10"),
            std::string::npos);
  EXPECT_NE(refusal({.width = 4}).find("4 x 0"), std::string::npos);
  EXPECT_NE(refusal({.width = 4, .height = 4, .channels = 2}).find("2 channels"),
            std::string::npos);
  const auto set = image_folder(folder_, {.width = 4, .height = 4, .pixels_max = 47}).value();
  EXPECT_NE(whole(*set).error().message.find("the limit is 47 pixels"), std::string::npos);
}

TEST(FetchedImages, are_in_the_order_of_their_names) {
  data::Fetched files;
  for (const char* name : {"dog/b.png", "cat/z.jpg", "dog/B.png"}) {
    files.files.push_back({.name = name, .path = text("/cache/", name)});
  }
  const data::ImageList list = data::list_images(files).value();
  EXPECT_EQ(list.classes, (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(list.files.size(), 3U);
  EXPECT_EQ(list.path(0), "/cache/cat/z.jpg");
  EXPECT_EQ(list.path(1), "/cache/dog/B.png");
  EXPECT_EQ(list.files[2].label, 1U);
  files.files.push_back({.name = "a.png"});
  EXPECT_FALSE(data::list_images(files).ok());
}

}  // namespace
}  // namespace edl::torch
