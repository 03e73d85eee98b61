#include "edl/data/source.h"

#include <gtest/gtest.h>

#include "edl/base/text.h"
#include "edl/data/cache.h"
#include "edl/data/file_list.h"

namespace edl::data {
namespace {

constexpr const char* kSum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

std::string server(const Source& source) { return http::url_text(source.server); }

TEST(Source, paths_files_and_servers_are_told_apart) {
  EXPECT_EQ(parse_source("data/a.npy")->kind, Source::Kind::kPath);
  EXPECT_EQ(parse_source("data/a.npy")->path, "data/a.npy");
  const Source file = parse_source("file:///data/a b.npy").value();
  EXPECT_EQ(file.kind, Source::Kind::kFile);
  EXPECT_EQ(file.path, "/data/a b.npy");
  const Source http = parse_source("http://host:81/a/b.npy?part=1").value();
  EXPECT_EQ(http.kind, Source::Kind::kHttp);
  EXPECT_EQ(server(http), "http://host:81");
  EXPECT_EQ(http.target, "/a/b.npy?part=1");
  const Source object = parse_source("s3://bucket/a key").value();
  EXPECT_EQ(object.kind, Source::Kind::kS3);
  EXPECT_EQ(object.path, "bucket/a key");
}

TEST(Source, a_server_has_the_usual_port_when_none_is_named) {
  EXPECT_EQ(server(parse_source("http://host/a").value()), "http://host:80");
  EXPECT_EQ(server(parse_source("https://host/a").value()), "https://host:443");
  EXPECT_EQ(server(parse_source("http://[::1]/a").value()), "http://[::1]:80");
  EXPECT_EQ(parse_source("http://host")->target, "/");
  EXPECT_EQ(parse_source("http://host?a")->target, "/?a");
}

TEST(Source, what_cannot_be_asked_for_is_refused) {
  for (const char* words : {"", "ftp://host/a", "file://host/a", "http://", "http://a b/c",
                            "http://name:word@host/a", "http://host/a#b", "http://host:99999/a",
                            "http://host/a\r\nX: y", "s3://bucket", "s3://bucket/", "s3:///key"}) {
    EXPECT_FALSE(parse_source(words).ok()) << words;
  }
  EXPECT_FALSE(parse_source(std::string(10'000, 'a')).ok());
  EXPECT_FALSE(parse_source(std::string("a\0b", 3)).ok());
}

TEST(Source, redirects_lead_to_servers_only_and_never_out_of_https) {
  const Source plain = parse_source("http://host:81/a").value();
  EXPECT_EQ(redirected(plain, "/b/c")->text, "http://host:81/b/c");
  EXPECT_EQ(redirected(plain, "https://other/b")->text, "https://other/b");
  EXPECT_FALSE(redirected(plain, "file:///etc/passwd").ok());
  EXPECT_FALSE(redirected(plain, "b").ok());
  const Source safe = parse_source("https://host/a").value();
  EXPECT_FALSE(redirected(safe, "http://host/a").ok());
  EXPECT_TRUE(redirected(safe, "/b").ok());
}

std::string entry(const std::string& name, const std::string& url, const std::string& more = "") {
  return text(R"({"name":")", name, R"(","url":")", url, "\"", more, "}");
}
std::string with_sum() { return text(R"(,"sha256":")", kSum, "\""); }
Result<std::vector<WantedFile>> listed(const std::string& entries) {
  return parse_file_list(text(R"({"files":[)", entries, "]}"), "folder");
}

TEST(FileList, names_files_with_their_places_and_sums) {
  const auto files = listed(entry("train/x.npy", "http://host/x", with_sum() + ",\"bytes\":12") +
                            "," + entry("y", "y.npy") + "," + entry("z", "/z.npy"))
                         .value();
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0].name, "train/x.npy");
  EXPECT_EQ(files[0].sha256, kSum);
  EXPECT_EQ(files[0].bytes, 12U);
  EXPECT_EQ(files[1].url, "folder/y.npy") << "from the list's own folder on";
  EXPECT_EQ(files[2].url, "/z.npy");
  EXPECT_FALSE(files[2].bytes.has_value());
}

TEST(FileList, what_is_wrong_in_it_is_named) {
  const auto refusal = [](const std::string& entries) {
    const auto files = listed(entries);
    return files.ok() ? "" : files.error().message;
  };
  EXPECT_NE(refusal("").find("0 files"), std::string::npos);
  EXPECT_NE(refusal(entry("x", "http://host/x")).find("is no SHA-256"), std::string::npos);
  EXPECT_NE(refusal(entry("../x", "x")).find("is no name"), std::string::npos);
  EXPECT_NE(refusal(entry("/x", "x")).find("is no name"), std::string::npos);
  EXPECT_NE(refusal(entry("x", "x") + "," + entry("x", "y")).find("x twice"), std::string::npos);
  EXPECT_NE(refusal(entry("x", "ftp://x")).find("no address"), std::string::npos);
  EXPECT_FALSE(parse_file_list("{", "").ok());
}

TEST(Sizes, are_written_with_their_unit) {
  EXPECT_EQ(parse_size("20GiB").value(), std::uint64_t{20} << 30);
  EXPECT_EQ(parse_size("3KiB").value(), 3072U);
  EXPECT_EQ(parse_size("17").value(), 17U);
  for (const char* words : {"", "GiB", "-1", "1.5GiB", "20GB", "99999999999TiB"}) {
    EXPECT_FALSE(parse_size(words).ok()) << words;
  }
}

TEST(CacheOptions, the_environment_names_the_folder) {
  EXPECT_EQ(cache_options({.cache = "/c", .xdg = "/x", .home = "/h"})->folder, "/c");
  EXPECT_EQ(cache_options({.xdg = "/x", .home = "/h"})->folder, "/x/edl");
  EXPECT_EQ(cache_options({.home = "/h"})->folder, "/h/.cache/edl");
  EXPECT_EQ(cache_options({})->folder, "");
  EXPECT_EQ(cache_options({.cache_max = "1KiB"})->bytes_max, 1024U);
  EXPECT_FALSE(cache_options({.cache_max = "much"}).ok());
}

}  // namespace
}  // namespace edl::data
