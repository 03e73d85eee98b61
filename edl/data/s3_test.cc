#include "edl/data/s3.h"

#include <gtest/gtest.h>

#include "edl/os/machine_test.h"

namespace edl::data {
namespace {

// The example "GET Object" of Amazon's documentation of Signature Version 4.
TEST(S3, a_request_is_signed_as_in_the_example_of_amazon) {
  const S3Access access{.region = "us-east-1",
                        .access_key = "AKIAIOSFODNN7EXAMPLE",
                        .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
  http::Request request{.method = "GET", .target = "/test.txt"};
  request.headers = {{"Range", "bytes=0-9"}};
  const WallTime now(std::chrono::sys_days(std::chrono::year(2013) / 5 / 24));
  sign(access, "examplebucket.s3.amazonaws.com", now, request);
  EXPECT_EQ(http::find_header(request.headers, "x-amz-date"), "20130524T000000Z");
  EXPECT_EQ(http::find_header(request.headers, "Authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(S3, what_is_not_plain_in_a_key_is_written_by_its_number) {
  EXPECT_EQ(s3_target("bucket/a-b_c.d~/e f+\xC3\xA4"), "/bucket/a-b_c.d~/e%20f%2B%C3%A4");
}

TEST(S3, access_is_read_from_a_file) {
  os::Machine machine;
  machine.run([](os::Disk& disk) {
    const auto write = [&](const std::string& path, os::Open mode, std::string_view words) {
      ASSERT_TRUE(disk.open(path, mode).value()->append(bytes_of(words)).ok());
    };
    constexpr std::string_view kWords =
        R"({"endpoint":"http://h:9000","region":"r","access_key":"a","secret_key":"s"})";
    write("/access", os::Open::kCreatePrivate, kWords);
    const S3Access access = read_s3_access(disk, "/access").value();
    EXPECT_EQ(http::url_text(access.endpoint), "http://h:9000");
    EXPECT_EQ(access.secret_key, "s");
    write("/wrong", os::Open::kCreatePrivate, "{}");
    EXPECT_FALSE(read_s3_access(disk, "/wrong").ok());
  });
}

}  // namespace
}  // namespace edl::data
