#include "edl/store/core.h"

#include <gtest/gtest.h>

#include "edl/store/watches.h"

namespace edl::store {
namespace {

constexpr Time kStart{};

StoreCore make(CoreLimits limits = {}, Image image = {}) {
  return StoreCore(std::move(image), limits, 7, kStart);
}

template <class Response, class Request>
Response ask(StoreCore& core, const Request& request, Time now = kStart) {
  const UnaryResponse response = core.apply(request, now);
  EXPECT_TRUE(std::holds_alternative<Response>(response));
  const Response* concrete = std::get_if<Response>(&response);
  return concrete == nullptr ? Response{} : *concrete;
}

void put(StoreCore& core, const std::string& key, const std::string& value, LeaseId lease = 0) {
  ask<PutResponse>(core, PutRequest{.key = key, .value = value, .lease = lease});
}

TEST(StoreCore, changes_name_what_must_be_on_disk) {
  StoreCore core = make();
  put(core, "a", "1");
  const auto lease = ask<LeaseGrantResponse>(core, LeaseGrantRequest{.ttl = 5}).id;
  put(core, "b", "2", lease);
  Changes changes = core.take_changes();
  EXPECT_EQ(changes.versions.size(), 2u);
  ASSERT_EQ(changes.leases.size(), 1u);
  EXPECT_EQ(changes.leases[0].ttl, 5);
  EXPECT_TRUE(core.take_changes().empty());
  core.on_time(kStart + 5s);
  changes = core.take_changes();
  EXPECT_EQ(changes.versions.size(), 1u);
  EXPECT_EQ(changes.leases.at(0).ttl, 0);
}

TEST(StoreCore, what_is_compacted_before_it_reached_the_disk_is_not_written) {
  StoreCore core = make();
  put(core, "a", "1");
  put(core, "a", "2");
  put(core, "a", "3");
  ask<CompactionResponse>(core, CompactionRequest{.revision = 3});
  const Changes changes = core.take_changes();
  EXPECT_EQ(changes.versions.size(), 2u);
  EXPECT_EQ(changes.forgotten.size(), 1u);
  EXPECT_EQ(changes.compacted, 3);
}

TEST(StoreCore, leases_do_not_run_while_the_store_cannot_be_reached) {
  StoreCore core = make();
  const auto lease = ask<LeaseGrantResponse>(core, LeaseGrantRequest{.ttl = 5}).id;
  put(core, "a", "1", lease);
  core.on_pause(10s);
  core.on_time(kStart + 14s);
  EXPECT_NE(core.history().find("a"), nullptr);
  core.on_time(kStart + 15s);
  EXPECT_EQ(core.history().find("a"), nullptr);
}

TEST(StoreCore, a_key_may_be_put_and_deleted_in_one_revision) {
  StoreCore core = make();
  TxnRequest inner_put{.success = {{PutRequest{.key = "a", .value = "1"}}}};
  TxnRequest inner_delete{.success = {{DeleteRangeRequest{.key = "a"}}}};
  TxnRequest txn{
      .success = {{std::vector<TxnRequest>{inner_put}}, {std::vector<TxnRequest>{inner_delete}}}};
  ask<TxnResponse>(core, txn);
  EXPECT_EQ(core.history().revision(), 2);
  EXPECT_EQ(core.history().log().size(), 2u);
  EXPECT_EQ(core.history().find("a"), nullptr);
  ask<CompactionResponse>(core, CompactionRequest{.revision = 2});
  Watches watches;
  watches.on_request({WatchCreateRequest{.key = "a", .start_revision = 2}, {}, {}}, core);
  const auto told = watches.poll(core, 1 << 20);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].events.size(), 2u);
}

TEST(StoreCore, history_beyond_the_limit_is_compacted) {
  StoreCore core = make({.keep_revisions = 10});
  for (int i = 0; i < 25; ++i) {
    put(core, "a", std::to_string(i));
    core.on_time(kStart);
  }
  EXPECT_GE(core.history().compacted(), 10);
  EXPECT_GE(core.history().revision() - core.history().compacted(), 10);
  EXPECT_LE(core.history().log().size(), 21u);
}

TEST(Watches, a_slow_reader_is_told_when_history_left_it_behind) {
  StoreCore core = make();
  put(core, "a", "1");
  Watches watches;
  watches.on_request({WatchCreateRequest{.key = "a", .start_revision = 2}, {}, {}}, core);
  for (int i = 0; i < 5; ++i) put(core, "a", "x");
  ask<CompactionResponse>(core, CompactionRequest{.revision = 5});
  const auto told = watches.poll(core, 1 << 20);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].canceled);
  EXPECT_EQ(told[0].compact_revision, 5);
  EXPECT_TRUE(watches.empty());
}

TEST(Watches, long_history_is_told_in_pieces_that_miss_nothing) {
  StoreCore core = make();
  for (int i = 0; i < 100; ++i) put(core, i % 2 == 0 ? "a" : "b", std::string(1000, 'x'));
  Watches watches({.response_bytes = 5000, .revisions_max = 7});
  watches.on_request({WatchCreateRequest{.key = "a", .start_revision = 1}, {}, {}}, core);
  std::vector<Revision> seen;
  for (int calls = 0; calls < 100; ++calls) {
    for (const WatchResponse& response : watches.poll(core, 2000)) {
      EXPECT_LE(response.events.size(), 7u);
      for (const Event& event : response.events) seen.push_back(event.kv.mod_revision);
    }
  }
  ASSERT_EQ(seen.size(), 50u);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i], static_cast<Revision>(2 * i + 2));
  }
}

TEST(Watches, progress_is_told_only_after_everything_before_it) {
  StoreCore core = make();
  for (int i = 0; i < 3; ++i) put(core, "a", std::string(1000, 'x'));
  Watches watches({.revisions_max = 1});
  watches.on_request({WatchCreateRequest{.key = "a", .start_revision = 1}, {}, {}}, core);
  watches.on_request({{}, {}, WatchProgressRequest{}}, core);
  std::vector<bool> is_progress;
  for (int calls = 0; calls < 5; ++calls) {
    for (const WatchResponse& response : watches.poll(core, 1)) {
      is_progress.push_back(response.events.empty());
    }
  }
  EXPECT_EQ(is_progress, (std::vector<bool>{false, false, false, true}));
}

}  // namespace
}  // namespace edl::store
