// Cases of store_suite that only ZooKeeper has: what its model does not allow.
#include "edl/store/zookeeper/zookeeper_store.h"
#include "tests/clusters/store_stage.h"

// zookeeper_close forgets the requests that are under way: neither called back nor freed.
// NOLINTNEXTLINE(readability-identifier-naming): the sanitizer's name
extern "C" const char* __lsan_default_suppressions();
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" const char* __lsan_default_suppressions() { return "leak:libzookeeper_mt"; }

namespace edl::store {
namespace {

class ZooKeeperSuite : public StoreSuite {
 protected:
  void SetUp() override {
    if (!setup().is_zookeeper()) GTEST_SKIP() << "this is not ZooKeeper";
  }
  Error refusal(const Change& change) {
    const auto changed = caller_.change(change);
    if (changed.ok()) {
      ADD_FAILURE() << "it was not refused";
      return {Code::kCorrupt, ""};
    }
    return changed.error();
  }
};

TEST_F(ZooKeeperSuite, a_url_names_hosts_and_ports) {
  EXPECT_EQ(zookeeper::parse_options("zk://a:1,b:2")->hosts, "a:1,b:2");
  for (const char* wrong : {"http://a:1", "zk://", "zk://a", "zk://a:1,", "zk://a:1/chroot",
                            "zk://unix:/a", "zk://a:0"}) {
    const auto refused = zookeeper::parse_options(wrong);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.error().code, Code::kInvalid) << wrong;
  }
}

TEST_F(ZooKeeperSuite, keys_that_are_no_paths_are_refused) {
  for (const std::string wrong : {"", "a", "/", "/a/", "//a", "/a//b", "/a/./b", "/a/..", "/a\n",
                                  "/\x7f", "/\xc3\xa4", "/zookeeper", "/zookeeper/quota"}) {
    EXPECT_EQ(refusal({.puts = {{wrong, "1", 0}}}).code, Code::kInvalid) << wrong;
    EXPECT_EQ(caller_.find(wrong).error().code, Code::kInvalid) << wrong;
  }
  EXPECT_EQ(caller_.list("a").error().code, Code::kInvalid);
}

TEST_F(ZooKeeperSuite, what_does_not_fit_into_one_request_is_refused) {
  const std::string half(500'000, 'x');
  EXPECT_EQ(refusal({.puts = {{key("a"), half + half, 0}}}).code, Code::kInvalid);
  EXPECT_EQ(refusal({.puts = {{key("a"), half, 0}, {key("b"), half, 0}}}).code, Code::kInvalid);
  EXPECT_TRUE(caller_.list(folder()).value().empty());
}

TEST_F(ZooKeeperSuite, a_key_is_changed_once_in_a_change) {
  EXPECT_EQ(refusal({.puts = {{key("a"), "1", 0}, {key("a"), "2", 0}}}).code, Code::kInvalid);
  EXPECT_EQ(refusal({.puts = {{key("a"), "1", 0}}, .deletes = {key("a")}}).code, Code::kInvalid);
}

TEST_F(ZooKeeperSuite, a_key_on_a_lease_has_no_keys_below_it) {
  const LeaseId lease = caller_.grant(600s).value();
  caller_.put(key("leased"), "1", lease);
  EXPECT_EQ(refusal({.puts = {{key("leased/a"), "1", 0}}}).code, Code::kInvalid);
  EXPECT_EQ(refusal({.puts = {{key("leased/a/b"), "1", 0}}}).code, Code::kInvalid);
  caller_.put(key("above"), "1");
  caller_.put(key("above/a"), "1");
  EXPECT_EQ(refusal({.puts = {{key("above"), "2", lease}}}).code, Code::kInvalid);
  EXPECT_EQ(caller_.value(key("above")), "1");
}

TEST_F(ZooKeeperSuite, a_change_is_about_one_lease) {
  const LeaseId first = caller_.grant(600s).value();
  const LeaseId second = caller_.grant(600s).value();
  EXPECT_EQ(refusal({.puts = {{key("a"), "1", first}, {key("b"), "1", second}}}).code,
            Code::kInvalid);
  EXPECT_TRUE(
      caller_.change({.puts = {{key("a"), "1", first}, {key("b"), "1", 0}}}).value().happened);
  EXPECT_TRUE(caller_.revoke(first).ok());
  EXPECT_EQ(caller_.value(key("b")), "1");
}

TEST_F(ZooKeeperSuite, a_lease_of_somebody_else_cannot_be_ended) {
  Caller other(stage_);
  const LeaseId lease = other.grant(600s).value();
  EXPECT_EQ(caller_.revoke(lease).error().code, Code::kNotFound);
  EXPECT_EQ(caller_.renew(lease).error().code, Code::kNotFound);
  EXPECT_TRUE(other.renew(lease).ok());
}

TEST_F(ZooKeeperSuite, everything_can_be_listed_but_not_what_is_its_own) {
  caller_.put(key("a"), "1");
  const auto listed = caller_.list("");
  ASSERT_TRUE(listed.ok()) << listed.error().message;
  bool found = false;
  for (const KeyValue& kv : *listed) {
    EXPECT_FALSE(kv.key.starts_with("/zookeeper")) << kv.key;
    found |= kv.key == key("a");
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace edl::store
