#include "edl/store/json_scanner.h"

#include <gtest/gtest.h>

#include "edl/base/json.h"
#include "edl/base/random.h"
#include "edl/store/raw_json.h"

namespace edl::store {
namespace {

std::string problem(std::string_view text) {
  const auto checked = check_json(text);
  return checked.ok() ? "" : checked.error().message;
}

// A random text that is JSON, or nearly so.
std::string scribble(Random& random) {
  constexpr std::string_view kBits[] = {
      "{",  "}",   "[",   "]", ",",  ":",  "\"a\"", "\"\\u00e9\"", "true", "nul", "false", "0",
      "-1", "1.5", "2e3", " ", "\n", "\"", "null",  "01",          "-",    "1.",  "1e",    "\\"};
  std::string text;
  for (std::uint64_t i = random.below(9) + 1; i > 0; --i) {
    text += kBits[random.below(std::size(kBits))];
  }
  return text;
}

std::string valid(Random& random, int depth) {
  switch (random.below(depth > 3 ? 5 : 7)) {
    case 0:
      return "null";
    case 1:
      return random.once_in(2) ? "true" : "false";
    case 2:
      return std::to_string(random.between(-1000, 1000));
    case 3:
      return "1.25e-3";
    case 4:
      return random.once_in(2) ? "\"a \\\" b{[,\\\\\"" : "\"\"";
    case 5: {
      std::string text = "[";
      for (std::uint64_t i = random.below(4); i > 0; --i) {
        text += valid(random, depth + 1) + (i > 1 ? " , " : "");
      }
      return text + "]";
    }
    default: {
      std::string text = "{ ";
      for (std::uint64_t i = random.below(4); i > 0; --i) {
        text += "\"k" + std::to_string(i) + "\" :" + valid(random, depth + 1) + (i > 1 ? "," : "");
      }
      return text + "}";
    }
  }
}

Json rebuilt(const RawJson& raw) {
  if (raw.kind() == RawJson::Kind::kArray) {
    Json out = Json::array();
    for (const RawJson& item : raw.items()) out.push_back(rebuilt(item));
    return out;
  }
  if (raw.kind() == RawJson::Kind::kObject) {
    Json out = Json::object();
    for (const auto& [key, value] : raw.fields()) out[key] = rebuilt(value);
    return out;
  }
  return Json::parse(raw.text());
}

TEST(JsonScanner, agrees_with_a_parser_on_what_is_json) {
  Random random(1);
  int good = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = scribble(random);
    EXPECT_EQ(check_json(text).ok(), Json::accept(text)) << text;
    good += Json::accept(text) ? 1 : 0;
  }
  EXPECT_GT(good, 100);
}

TEST(JsonScanner, speaks_as_go_does) {
  EXPECT_EQ(problem("{"), "unexpected end of JSON input");
  EXPECT_EQ(problem("{\"a\":}"), "invalid character '}' looking for beginning of value");
  EXPECT_EQ(problem("{\"a\" 1}"), "invalid character '1' after object key");
  EXPECT_EQ(problem("{\"a\":1 2}"), "invalid character '2' after object key:value pair");
  EXPECT_EQ(problem("[1 2]"), "invalid character '2' after array element");
  EXPECT_EQ(problem("{'a':1}"),
            "invalid character '\\'' looking for beginning of object key string");
  EXPECT_EQ(problem("1 x"), "invalid character 'x' after top-level value");
  EXPECT_EQ(problem("trux"), "invalid character 'x' in literal true (expecting 'e')");
  EXPECT_EQ(problem("\"\n\""), "invalid character '\\n' in string literal");
  EXPECT_EQ(problem("-x"), "invalid character 'x' in numeric literal");
  EXPECT_EQ(problem(std::string(20'000, '[')), "invalid character '[' exceeded max depth");
}

TEST(JsonScanner, takes_the_first_value_and_leaves_the_rest) {
  EXPECT_EQ(first_json_value(" {\"a\":1} x").value(), " {\"a\":1}");
  EXPECT_EQ(first_json_value("12 {").value(), "12");
  EXPECT_EQ(first_json_value(" \n").value(), "null");
  EXPECT_EQ(first_json_value("nul").error().message, "unexpected EOF");
}

TEST(JsonScanner, a_stream_may_be_cut_anywhere) {
  Random random(2);
  for (int i = 0; i < 2'000; ++i) {
    std::string stream;
    std::vector<Json> expected;
    for (std::uint64_t n = random.below(5); n > 0; --n) {
      const std::string value = valid(random, 0);
      expected.push_back(Json::parse(value));
      stream += value + (random.once_in(2) ? "\n" : "  ");
    }
    JsonSplitter splitter(1 << 20);
    std::vector<std::string> out;
    for (std::string_view rest = stream; !rest.empty();) {
      const std::size_t piece = std::min<std::size_t>(random.below(7) + 1, rest.size());
      ASSERT_TRUE(splitter.feed(rest.substr(0, piece), out).ok()) << stream;
      rest.remove_prefix(piece);
    }
    ASSERT_TRUE(splitter.finish(out).ok());
    ASSERT_EQ(out.size(), expected.size()) << stream;
    for (std::size_t k = 0; k < out.size(); ++k) EXPECT_EQ(rebuilt(RawJson(out[k])), expected[k]);
  }
}

TEST(JsonScanner, a_value_above_the_limit_is_refused) {
  JsonSplitter splitter(10);
  std::vector<std::string> out;
  EXPECT_TRUE(splitter.feed("\"12345678\"", out).ok());
  EXPECT_EQ(splitter.feed("\"1234567890\"", out).error().code, Code::kExhausted);
}

}  // namespace
}  // namespace edl::store
