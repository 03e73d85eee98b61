// A node's cache on a real disk, filled from a server that can fail in all the ways that servers
// do.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "edl/base/sha256.h"
#include "edl/base/text.h"
#include "edl/data/cache.h"
#include "edl/http/server.h"
#include "edl/os/posix/machine.h"
#include "edl/os/posix/system.h"

namespace edl::data {
namespace {

std::string sum_of(std::string_view words) {
  Sha256 hash;
  hash.add(bytes_of(words));
  return hash.finish();
}

std::string many(std::size_t count, char first = 'a') {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += static_cast<char>(first + i * i % 17);
  return out;
}

class NodeCache : public ::testing::Test {
 protected:
  NodeCache() {
    std::filesystem::create_directories(folder_);
    server_ =
        http::Server::start(*system_, {.address = {"127.0.0.1", 0, {}}}, [this](auto exchange) {
          serve(std::move(exchange));
        }).value();
    options_.cache.folder = folder_ + "/cache";
    options_.download.pause = 1ms;
  }
  ~NodeCache() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string url(const std::string& name) const {
    return text("http://", os::address_text(server_->address()), "/", name);
  }
  WantedFile wanted(const std::string& name, const std::string& words) const {
    return {.name = name, .url = url(name), .sha256 = sum_of(words)};
  }
  Result<Fetched> fetch(const std::vector<WantedFile>& files) {
    return Fetcher(*system_, options_).fetch(files);
  }
  // What the cache holds, by its sums.
  std::size_t kept() { return CacheFolder(*system_, options_.cache).list().value().size(); }
  bool has(const std::string& words) {
    return CacheFolder(*system_, options_.cache).has(sum_of(words));
  }
  std::size_t parts() const {
    const auto all = std::filesystem::directory_iterator(options_.cache.folder + "/part");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string write(const std::string& name, const std::string& words) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << words;
    return folder_ + "/" + name;
  }

  // Of the server.
  std::map<std::string, std::string> files_;
  std::map<std::string, std::string> leads_to_;
  std::map<std::string, int> answers_;         // a status instead of the file, once
  std::map<std::string, std::size_t> cuts_;    // closes behind so many bytes, once
  std::map<std::string, std::size_t> begins_;  // sends from here on instead of what was asked, once
  bool knows_ranges_ = true;
  std::string authorization_{};     // of the last request
  std::vector<std::string> asked_;  // "name range"

  const std::string folder_ = text(::testing::TempDir(), "/node-cache-", os::this_machine().pid);
  std::unique_ptr<LogSink> sink_ = silent_log_sink();
  std::unique_ptr<os::PosixSystem> system_ = os::posix_system({.log_sink = sink_.get()});
  FetchOptions options_;

 private:
  void serve(std::unique_ptr<http::Exchange> exchange) {
    const std::string name = exchange->request().target.substr(1);
    const std::string range(http::find_header(exchange->request().headers, "Range"));
    asked_.push_back(text(name, " ", range));
    authorization_ = http::find_header(exchange->request().headers, "Authorization");
    if (const auto answer = answers_.extract(name)) {
      return exchange->answer({answer.mapped(), {}, "no"});
    }
    if (leads_to_.contains(name)) {
      return exchange->answer({302, {{"Location", leads_to_[name]}}, ""});
    }
    if (!files_.contains(name)) return exchange->answer({404, {}, "there is no such file"});
    const std::string& words = files_[name];
    std::size_t from = 0;
    if (knows_ranges_ && range.starts_with("bytes=")) from = std::stoul(range.substr(6));
    if (from > 0 && begins_.contains(name)) from = begins_.extract(name).mapped();
    if (from > words.size()) return exchange->answer({416, {}, ""});
    http::Headers headers;
    if (from > 0) {
      headers.push_back(
          {"Content-Range", text("bytes ", from, "-", words.size() - 1, "/", words.size())});
    }
    const auto cut = cuts_.extract(name);
    if (cut.empty()) {
      return exchange->answer({from > 0 ? 206 : 200, headers, words.substr(from)});
    }
    // Dropped without its end once the pieces are out: the connection closes.
    auto* open = exchange.get();
    broken_.push_back(std::move(exchange));
    open->begin(from > 0 ? 206 : 200, headers);
    open->on_sent([this] { system_->post([this] { broken_.clear(); }); });
    open->send(words.substr(from, cut.mapped()));
  }

  std::unique_ptr<http::Server> server_;
  std::vector<std::unique_ptr<http::Exchange>> broken_;
};

TEST_F(NodeCache, a_file_is_fetched_once_and_found_afterwards) {
  files_["a"] = many(200'000);
  const auto first = fetch({wanted("a", files_["a"])}).value();
  EXPECT_FALSE(first.files[0].was_here);
  EXPECT_EQ(first.files[0].bytes, 200'000U);
  EXPECT_EQ(read(first.path("a").value()), files_["a"]);
  const auto second = fetch({wanted("a", files_["a"])}).value();
  EXPECT_TRUE(second.files[0].was_here);
  EXPECT_EQ(asked_.size(), 1U);
  EXPECT_EQ(parts(), 0U);
}

TEST_F(NodeCache, a_wrong_sum_is_refused_and_nothing_of_it_stays) {
  files_["a"] = many(1000);
  const auto done = fetch({wanted("a", "something else")});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::kCorrupt);
  for (const std::string& word : {url("a"), sum_of("something else"), sum_of(files_["a"])}) {
    EXPECT_NE(done.error().message.find(word), std::string::npos) << done.error().message;
  }
  EXPECT_EQ(kept(), 0U);
  EXPECT_EQ(parts(), 0U);
}

TEST_F(NodeCache, a_download_that_breaks_goes_on_where_it_was) {
  files_["a"] = many(100'000);
  cuts_["a"] = 40'000;
  const auto done = fetch({wanted("a", files_["a"])});
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(read(done->files[0].path), files_["a"]);
  EXPECT_EQ(asked_, (std::vector<std::string>{"a ", "a bytes=40000-"}));
}

TEST_F(NodeCache, a_server_without_ranges_sends_it_from_the_beginning) {
  files_["a"] = many(100'000);
  knows_ranges_ = false;
  cuts_["a"] = 40'000;
  const auto done = fetch({wanted("a", files_["a"])});
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(read(done->files[0].path), files_["a"]);
}

TEST_F(NodeCache, a_server_that_sends_another_range_is_not_believed) {
  files_["a"] = many(100'000);
  cuts_["a"] = 40'000;
  begins_["a"] = 30'000;
  const auto done = fetch({wanted("a", files_["a"])});
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(asked_, (std::vector<std::string>{"a ", "a bytes=40000-", "a "}));
}

TEST_F(NodeCache, the_next_process_goes_on_behind_what_the_last_one_got) {
  files_["a"] = many(100'000);
  cuts_["a"] = 40'000;
  options_.download.tries = 0;
  EXPECT_FALSE(fetch({wanted("a", files_["a"])}).ok());
  EXPECT_EQ(parts(), 1U);
  const auto done = fetch({wanted("a", files_["a"])});
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(asked_.back(), "a bytes=40000-");
  EXPECT_EQ(read(done->files[0].path), files_["a"]);
}

TEST_F(NodeCache, a_beginning_of_something_else_does_not_spoil_the_file) {
  files_["a"] = many(1000);
  std::filesystem::create_directories(options_.cache.folder + "/part");
  for (const std::size_t bytes : {std::size_t{10}, std::size_t{5000}}) {
    std::filesystem::remove_all(options_.cache.folder + "/sha256");
    std::ofstream(options_.cache.folder + "/part/" + sum_of(files_["a"])) << many(bytes, 'X');
    const auto done = fetch({wanted("a", files_["a"])});
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(read(done->files[0].path), files_["a"]);
  }
}

TEST_F(NodeCache, a_server_that_is_busy_is_asked_again_and_one_that_refuses_is_not) {
  files_["a"] = many(10);
  answers_["a"] = 503;
  EXPECT_TRUE(fetch({wanted("a", files_["a"])}).ok());
  EXPECT_EQ(asked_.size(), 2U);
  const auto missing = fetch({wanted("b", "b")});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("answers 404"), std::string::npos);
  EXPECT_EQ(asked_.size(), 3U);
}

TEST_F(NodeCache, a_server_that_is_not_there_is_given_up) {
  WantedFile file = wanted("a", "a");
  file.url = "http://127.0.0.1:1/a";
  const auto done = fetch({file});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::kUnavailable);
  EXPECT_NE(done.error().message.find("cannot fetch http://127.0.0.1:1/a"), std::string::npos);
}

TEST_F(NodeCache, redirects_are_followed_within_a_limit) {
  files_["b"] = many(10);
  leads_to_["a"] = "/b";
  EXPECT_TRUE(fetch({wanted("a", files_["b"])}).ok());
  leads_to_["c"] = url("c");
  const auto done = fetch({wanted("c", "c")});
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().message.find("more than 5 times"), std::string::npos);
}

TEST_F(NodeCache, another_length_than_the_list_says_is_refused_before_it_comes) {
  files_["a"] = many(1000);
  WantedFile file = wanted("a", files_["a"]);
  file.bytes = 999;
  const auto done = fetch({file});
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().message.find("has 1000 bytes, but 999 are wanted"), std::string::npos);
}

TEST_F(NodeCache, files_and_paths_of_this_machine_are_copied_and_used) {
  const std::string path = write("x", "words");
  const auto both = fetch({{.name = "copied", .url = "file://" + path, .sha256 = sum_of("words")},
                           {.name = "used", .url = path}})
                        .value();
  EXPECT_EQ(both.path("used").value(), path);
  EXPECT_NE(both.path("copied").value(), path);
  EXPECT_EQ(read(both.path("copied").value()), "words");
  EXPECT_FALSE(both.path("another").ok());
  const auto wrong = fetch({{.name = "x", .url = path, .sha256 = sum_of("others")}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, Code::kCorrupt);
  EXPECT_EQ(read(path), "words") << "what is not ours is left alone";
}

TEST_F(NodeCache, an_object_of_s3_is_asked_for_with_a_signature_that_goes_nowhere_else) {
  files_["bucket/a%20key"] = many(100);
  WantedFile file{.name = "a", .url = "s3://bucket/a key", .sha256 = sum_of(many(100))};
  EXPECT_NE(fetch({file}).error().message.find("--s3-access"), std::string::npos);
  options_.cache.s3_access =
      write("access", text(R"({"endpoint":")", url(""), R"(","region":"r","access_key":"me",)",
                           R"("secret_key":"hidden"})"));
  EXPECT_NE(fetch({file}).error().message.find("chmod 600"), std::string::npos);
  std::filesystem::permissions(options_.cache.s3_access, std::filesystem::perms::owner_read);
  const auto done = fetch({file});
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_NE(authorization_.find("Credential=me/"), std::string::npos) << authorization_;
  EXPECT_EQ(authorization_.find("hidden"), std::string::npos);
  leads_to_["bucket/b"] = url("b");
  files_["b"] = many(50);
  ASSERT_TRUE(fetch({{.name = "b", .url = "s3://bucket/b", .sha256 = sum_of(many(50))}}).ok());
  EXPECT_EQ(authorization_, "");
}

TEST_F(NodeCache, without_a_sum_it_is_fetched_each_time_and_its_sum_is_told) {
  files_["a"] = many(100);
  for (int i = 0; i < 2; ++i) {
    const auto done = fetch({{.name = "a", .url = url("a")}});
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(done->files[0].sha256, sum_of(files_["a"]));
  }
  EXPECT_EQ(asked_.size(), 2U);
}

TEST_F(NodeCache, the_least_recently_used_goes_when_there_is_no_room) {
  options_.cache.bytes_max = 2500;
  for (const char* name : {"a", "b", "c"}) files_[name] = many(1000, *name);
  ASSERT_TRUE(fetch({wanted("a", files_["a"])}).ok());
  ASSERT_TRUE(fetch({wanted("b", files_["b"])}).ok());
  // The clock of files moves in ticks: a is used until that is seen.
  while (CacheFolder(*system_, options_.cache).list().value()[0].sha256 != sum_of(files_["b"])) {
    ASSERT_TRUE(fetch({wanted("a", files_["a"])}).ok());
  }
  ASSERT_TRUE(fetch({wanted("c", files_["c"])}).ok());
  EXPECT_TRUE(has(files_["a"]));
  EXPECT_FALSE(has(files_["b"]));
  EXPECT_TRUE(has(files_["c"]));
}

TEST_F(NodeCache, what_a_process_uses_stays_and_no_room_is_said) {
  options_.cache.bytes_max = 2500;
  for (const char* name : {"a", "b", "c"}) files_[name] = many(1000, *name);
  auto used = std::make_unique<Fetched>(
      fetch({wanted("a", files_["a"]), wanted("b", files_["b"])}).value());
  WantedFile third = wanted("c", files_["c"]);
  third.bytes = 1000;
  const auto done = fetch({third});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::kExhausted);
  EXPECT_NE(done.error().message.find("--cache-max"), std::string::npos) << done.error().message;
  EXPECT_EQ(CacheFolder(*system_, options_.cache).clear().value(), 0U);
  EXPECT_EQ(kept(), 2U);
  used.reset();
  EXPECT_TRUE(fetch({third}).ok());
  EXPECT_EQ(CacheFolder(*system_, options_.cache).clear().value(), 2000U);
  EXPECT_EQ(kept(), 0U);
}

TEST_F(NodeCache, one_that_fetches_keeps_the_others_waiting_until_it_is_done) {
  files_["a"] = many(1000);
  CacheFolder folder(*system_, options_.cache);
  ASSERT_TRUE(folder.make().ok());
  auto other = folder.begin_fetch(sum_of(files_["a"]), system_->now()).value();
  options_.limit = 1ms;
  const auto late = fetch({wanted("a", files_["a"])});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, Code::kTimeout);
  EXPECT_EQ(asked_.size(), 0U);
  // The other ends, well or not, while we wait.
  options_.limit = 1h;
  const os::Pending end = system_->after(1ms, [&] { other.reset(); });
  EXPECT_TRUE(fetch({wanted("a", files_["a"])}).ok());
}

TEST_F(NodeCache, a_list_is_one_argument) {
  files_["a.png"] = many(100);
  write("x.npy", "numbers");
  const std::string list =
      write("list.json",
            text(R"({"files":[{"name":"x","url":"x.npy"},{"name":"dog/a.png","url":"file://)",
                 write("a.png", files_["a.png"]), R"(","sha256":")", sum_of(files_["a.png"]),
                 R"(","bytes":100}]})"));
  Cache cache(options_, [this] { return os::posix_system({.log_sink = sink_.get()}); });
  const auto done = cache.fetch(list);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(read(done->path("x").value()), "numbers");
  EXPECT_EQ(read(done->path("dog/a.png").value()), files_["a.png"]);
  EXPECT_EQ(CacheFolder(*system_, options_.cache).clear().value(), 0U) << "the cache lives";
  const auto path = cache.fetch_file("file://" + folder_ + "/x.npy", sum_of("numbers"));
  EXPECT_EQ(read(path.value()), "numbers");
  EXPECT_FALSE(cache.fetch(folder_ + "/none.json").ok());
}

}  // namespace
}  // namespace edl::data
