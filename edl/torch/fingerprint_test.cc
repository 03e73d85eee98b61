#include "edl/torch/fingerprint.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "edl/os/thread.h"

namespace edl::torch {
namespace {

TEST(TorchFingerprint, has_all_parts_and_is_always_the_same) {
  const auto first = fingerprint(loaded_blas());
  ASSERT_TRUE(first.ok());
  for (const char* part : {"blas", "isa", "known", "onednn", "threads", "torch"}) {
    ASSERT_TRUE(first->contains(part)) << part;
    EXPECT_NE(first->at(part), "") << part;
  }
  EXPECT_EQ(first->size(), 6u);
  EXPECT_EQ(first->at("threads"), "1");
  ::torch::manual_seed(7);
  EXPECT_EQ(fingerprint(loaded_blas()).value(), *first);
}

// A process that is to be forked has made one.
TEST(TorchFingerprint, starts_no_thread) {
  const int before = os::thread_count();
  ASSERT_TRUE(fingerprint(loaded_blas()).ok());
  EXPECT_EQ(os::thread_count(), before);
}

TEST(TorchFingerprint, knows_whether_onednn_is_on) {
  const auto on = fingerprint(loaded_blas()).value();
  at::globalContext().setUserEnabledMkldnn(false);
  const auto off = fingerprint(loaded_blas()).value();
  at::globalContext().setUserEnabledMkldnn(true);
  EXPECT_EQ(off.at("onednn"), "off");
  EXPECT_EQ(model::fingerprint_difference(off, on).empty(), on.at("onednn") == "off");
}

}  // namespace
}  // namespace edl::torch
