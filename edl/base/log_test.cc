#include "edl/base/log.h"

#include <gtest/gtest.h>

namespace edl {
namespace {

class KeptLines final : public LogSink {
 public:
  bool wants(Level level) const override { return level >= Level::kInfo; }
  void line(Level, std::string_view line) override { lines.emplace_back(line); }
  std::vector<std::string> lines;
};

TEST(Log, writes_the_event_and_then_pairs) {
  KeptLines kept;
  const Log log(kept, "wire");
  log.info("connection closed", {{"peer", "127.0.0.1:9"}, {"frames", 3}, {"why", "it \"left\""}});
  log.debug("not wanted", {});
  log.room("store").warn("full");
  ASSERT_EQ(kept.lines.size(), 2u);
  EXPECT_EQ(kept.lines[0],
            R"(wire: connection closed peer=127.0.0.1:9 frames=3 why="it \"left\"")");
  EXPECT_EQ(kept.lines[1], "store: full");
}

}  // namespace
}  // namespace edl
