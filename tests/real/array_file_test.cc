// Files of numbers on a real disk, mapped and unpacked.
#include "edl/data/array_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "edl/base/text.h"
#include "edl/os/posix/machine.h"

namespace edl::data {
namespace {

class ArrayFiles : public ::testing::Test {
 public:
  ArrayFiles() { std::filesystem::create_directory(folder_); }
  ~ArrayFiles() override { std::filesystem::remove_all(folder_); }

 protected:
  std::string write(const std::string& name, const std::string& words) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << words;
    return path;
  }
  std::string write_zipped(const std::string& name, const std::string& words) const {
    const std::string path = folder_ + "/" + name;
    const gzFile file = ::gzopen(path.c_str(), "wb");
    EXPECT_EQ(::gzwrite(file, words.data(), static_cast<unsigned>(words.size())),
              static_cast<int>(words.size()));
    EXPECT_EQ(::gzclose(file), Z_OK);
    return path;
  }

 private:
  const std::string folder_ = text(::testing::TempDir(), "/array-files-", os::this_machine().pid);
};

std::string idx() { return {"\0\0\x08\2\0\0\0\2\0\0\0\2abcd", 16}; }

std::string row(const Array& array, std::uint64_t i) {
  std::string out(row_bytes(array), ' ');
  copy_row(array, i, std::as_writable_bytes(std::span(out)));
  return out;
}

TEST_F(ArrayFiles, plain_and_packed_files_give_the_same_rows) {
  for (const std::string& path : {write("images", idx()), write_zipped("images.gz", idx())}) {
    const Array array = idx_file(path).value();
    std::filesystem::remove(path);  // the array keeps what it needs
    EXPECT_EQ(array.shape, (Shape{2, 2}));
    EXPECT_EQ(array.name, path);
    EXPECT_EQ(row(array, 1), "cd") << path;
  }
}

TEST_F(ArrayFiles, raw_numbers_have_the_shape_that_the_caller_gives) {
  // Begins like a packed file, and is none.
  const std::string path = write("raw",
                                 "\x1F\x8B"
                                 "cdef");
  EXPECT_EQ(row(raw_file(path, Dtype::kU8, {3, 2}).value(), 2), "ef");
  const auto refused = raw_file(path, Dtype::kI16, {4});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            path +
                ": holds 6 bytes of numbers, but 4 of int16 are 8: it was cut off or written "
                "otherwise");
}

TEST_F(ArrayFiles, errors_name_the_file) {
  const auto message = [](const Result<Array>& array) {
    return array.ok() ? "" : array.error().message;
  };
  const std::string csv = write("table.csv", "1,2\n3,x\n");
  EXPECT_EQ(message(csv_file(csv)), csv + ": line 2, column 2: \"x\" is not a number");
  EXPECT_EQ(row_bytes(csv_file(write("good.csv", "1,2\n3,4\n")).value()), 8u);
  const std::string npy = write("array.npy", "no");
  EXPECT_TRUE(message(npy_file(npy)).starts_with(npy + ": is not NPY"));
  const std::string cut = write("cut.gz", "\x1F\x8B\x08");
  EXPECT_TRUE(message(idx_file(cut)).starts_with(cut + ": is cut off")) << message(idx_file(cut));
  const auto missing = idx_file("/nowhere/images");
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_EQ(missing.error().message, "cannot open /nowhere/images: No such file or directory");
}

}  // namespace
}  // namespace edl::data
