// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/context_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace holdfast::cuda {
namespace {

class Context {
 public:
  Context(int ordinal, unsigned flags, CUcontext handle)
      : ordinal_(ordinal), flags_(flags), handle_(handle), id_(++last_id_) {}

  int ordinal() const { return ordinal_; }
  std::atomic<unsigned>& flags() { return flags_; }
  CUcontext handle() const { return handle_; }
  uint64_t id() const { return id_; }

 private:
  inline static std::atomic<uint64_t> last_id_{0};
  const int ordinal_;
  std::atomic<unsigned> flags_;
  const CUcontext handle_;
  const uint64_t id_;
};

using Table = ContextTable<Context, absl::Mutex, absl::MutexLock>;

class ContextTableTest : public testing::Test {
 protected:
  Table table_{2, [](int ordinal, unsigned flags, CUcontext handle) {
                 return std::make_shared<Context>(ordinal, flags, handle);
               }};
};

TEST_F(ContextTableTest, TheHandleOfAnEndedContextKeepsItsDevice) {
  const CUcontext handle = table_.Create(1, CU_CTX_SCHED_SPIN)->handle();
  EXPECT_EQ(table_.Find(handle)->flags(), CU_CTX_SCHED_SPIN);
  ASSERT_NE(table_.Remove(handle), nullptr);
  EXPECT_EQ(table_.Find(handle), nullptr);
  EXPECT_EQ(table_.OrdinalOf(handle), 1);
  EXPECT_EQ(table_.Remove(handle), nullptr);
  EXPECT_EQ(table_.OrdinalOf(nullptr), -1);
}

TEST_F(ContextTableTest, APrimaryContextComesBackUnderItsHandleAsANewOne) {
  const CUcontext handle = table_.Retain(1);
  const std::shared_ptr<Context> first = table_.Find(handle);
  EXPECT_EQ(first->ordinal(), 1);
  std::shared_ptr<Context> ended;
  ASSERT_TRUE(table_.Release(1, &ended));
  EXPECT_EQ(ended, first);
  EXPECT_FALSE(table_.IsActive(1));
  EXPECT_EQ(table_.Retain(1), handle);
  EXPECT_NE(table_.Find(handle)->id(), first->id());
  EXPECT_TRUE(table_.IsPrimary(handle));
}

TEST_F(ContextTableTest, TheLastUserEndsAPrimaryContext) {
  const CUcontext handle = table_.Retain(0);
  table_.Retain(0);
  std::shared_ptr<Context> ended;
  ASSERT_TRUE(table_.Release(0, &ended));
  EXPECT_EQ(ended, nullptr);
  EXPECT_NE(table_.Find(handle), nullptr);
  ASSERT_TRUE(table_.Release(0, &ended));
  EXPECT_NE(ended, nullptr);
  EXPECT_FALSE(table_.Release(0, &ended));
}

TEST_F(ContextTableTest, UsersOfAPrimaryContextOutliveItsReset) {
  const CUcontext handle = table_.Retain(0);
  EXPECT_NE(table_.Reset(0), nullptr);
  EXPECT_EQ(table_.Find(handle), nullptr);
  EXPECT_EQ(table_.Reset(0), nullptr);
  std::shared_ptr<Context> ended;
  EXPECT_TRUE(table_.Release(0, &ended));
  EXPECT_EQ(ended, nullptr);
}

TEST_F(ContextTableTest, FlagsHoldForThePresentAndForLaterContexts) {
  const CUcontext handle = table_.Retain(0);
  table_.SetFlags(0, CU_CTX_SCHED_YIELD);
  EXPECT_EQ(table_.Find(handle)->flags(), CU_CTX_SCHED_YIELD);
  table_.Reset(0);
  table_.Retain(0);
  EXPECT_EQ(table_.Find(handle)->flags(), CU_CTX_SCHED_YIELD);
  EXPECT_EQ(table_.Flags(0), CU_CTX_SCHED_YIELD);
  EXPECT_EQ(table_.Flags(1), CU_CTX_SCHED_AUTO);
}

TEST_F(ContextTableTest, OnlyLivingContextsAreListedAndFoundByTheirId) {
  const std::shared_ptr<Context> kept = table_.Create(0, 0);
  const std::shared_ptr<Context> ended = table_.Create(1, 0);
  table_.Remove(ended->handle());
  EXPECT_EQ(table_.All(), std::vector<std::shared_ptr<Context>>{kept});
  EXPECT_EQ(table_.FindById(kept->id()), kept);
  EXPECT_EQ(table_.FindById(ended->id()), nullptr);
}

// One thread's release may be the last one while another thread retains.
TEST_F(ContextTableTest, AContextLivesAsLongAsAnyThreadUsesIt) {
  std::atomic<int> ended_in_use{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 20000; ++j) {
        table_.Retain(0);
        ended_in_use += table_.IsActive(0) ? 0 : 1;
        std::shared_ptr<Context> ended;
        table_.Release(0, &ended);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ended_in_use, 0);
  EXPECT_FALSE(table_.IsActive(0));
}

}  // namespace
}  // namespace holdfast::cuda
