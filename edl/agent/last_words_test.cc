#include "edl/agent/last_words.h"

#include <gtest/gtest.h>

#include "edl/base/text.h"

namespace edl::agent {
namespace {

using Lines = std::vector<std::string>;

const std::string kTrace = "Traceback (most recent call last):";
const std::string kNoted = "2026-11-19T21:50:49.392684 I membership: publish {\"batch\":64}";
const std::string kError = "2026-11-19T21:50:49.404499 E train: the program failed";

TEST(LastWords, are_the_traceback_alone) {
  const LastWords words =
      last_words({"part 1", kTrace, "ValueError: caught", kNoted, "part 2", kTrace,
                  "  File \"bad.py\", line 9", "ValueError: mine", kError, kNoted});
  EXPECT_TRUE(words.is_traceback);
  EXPECT_EQ(words.lines, (Lines{kTrace, "  File \"bad.py\", line 9", "ValueError: mine"}));
}

TEST(LastWords, begin_with_the_exception_from_which_it_came) {
  const Lines chain{kTrace,
                    "KeyError: 1",
                    "",
                    "During handling of the above exception, another exception occurred:",
                    "",
                    kTrace,
                    "ValueError: mine"};
  Lines log{kNoted, kTrace, "OSError: another one", kNoted, "part 1"};
  log.insert(log.end(), chain.begin(), chain.end());
  log.push_back(kError);
  EXPECT_EQ(last_words(log).lines, chain);
  Lines noted = chain;
  for (std::ptrdiff_t at = 6; at > 0; --at) noted.insert(noted.begin() + at, kNoted);
  EXPECT_EQ(last_words(noted).lines, chain);
}

TEST(LastWords, are_whole_when_the_core_notes_something_meanwhile) {
  const LastWords words =
      last_words({kTrace, "  File \"bad.py\", line 9", kNoted, "    forward(x)", "", kNoted,
                  "ValueError: mine", "more of it", kError, "printed by another thread"});
  EXPECT_EQ(words.lines, (Lines{kTrace, "  File \"bad.py\", line 9", "    forward(x)", "",
                                "ValueError: mine", "more of it"}));
}

TEST(LastWords, of_a_deep_program_keep_head_and_end) {
  Lines log{kTrace};
  for (int i = 0; i < 1000; ++i) log.push_back(text("  frame ", i));
  log.emplace_back("RuntimeError: deep");
  const LastWords words = last_words(log);
  EXPECT_EQ(words.lines.size(), 200u);
  EXPECT_EQ(words.lines.front(), kTrace);
  EXPECT_EQ(words.lines[100], "  ... 803 more lines ...");
  EXPECT_EQ(words.lines[101], "  frame 902");
  EXPECT_EQ(words.lines.back(), "RuntimeError: deep");
  log.resize(150);
  EXPECT_EQ(last_words(log).lines, log);
}

TEST(LastWords, without_a_traceback_are_the_last_lines) {
  Lines log{kNoted, "broken here", kNoted, kError};
  const LastWords words = last_words(log);
  EXPECT_FALSE(words.is_traceback);
  EXPECT_EQ(words.lines, (Lines{"broken here", kError}));
  for (int i = 0; i < 100; ++i) log.push_back(text("line ", i));
  EXPECT_EQ(last_words(log).lines.size(), 20u);
  EXPECT_EQ(last_words(log).lines.front(), "line 80");
}

}  // namespace
}  // namespace edl::agent
