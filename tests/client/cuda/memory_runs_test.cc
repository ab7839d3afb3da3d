// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/memory_runs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "client/cpp/session.h"
#include "tests/client/cpp/fake_daemon.h"

namespace holdfast::libcuda {
namespace {

constexpr uint64_t kPage = uint64_t{2} << 20;
constexpr CUdeviceptr kBase = 64 * kPage;

class MemoryRunsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto session = Session::Open({.address = fake_.address()});
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
    auto whole = session_->device(0).Allocate(16 * kPage);
    ASSERT_TRUE(whole.ok()) << whole.status();
    whole_ = *std::move(whole);
  }

  static MemoryRun Run(uint64_t first, uint64_t pages) {
    return {kBase + first * kPage, pages * kPage, 0};
  }

  // No buffer can be made at `refused`.
  absl::Status Update(const std::vector<MemoryRun>& runs,
                      CUdeviceptr refused = 0) {
    return runs_.Update(map_, runs,
                        [&](const MemoryRun& run) -> absl::StatusOr<Buffer> {
                          if (run.address == refused)
                            return absl::UnavailableError("refused");
                          return whole_->Sub(run.address - kBase, run.size);
                        });
  }

  // The pages of the allocation that has this page; 0: none has.
  uint64_t PagesAt(uint64_t page) const {
    const auto found = map_.Find(kBase + page * kPage);
    return found == nullptr ? 0 : found->size / kPage;
  }

  FakeDaemon fake_;
  std::unique_ptr<Session> session_;
  std::optional<Buffer> whole_;
  MemoryMap map_;
  MemoryRuns runs_;
};

TEST_F(MemoryRunsTest, AllocationsAreThoseOfTheRuns) {
  ASSERT_TRUE(Update({Run(0, 2), Run(3, 1)}).ok());
  EXPECT_EQ(PagesAt(1), 2u);
  EXPECT_EQ(PagesAt(2), 0u);
  ASSERT_TRUE(Update({Run(0, 4)}).ok());
  EXPECT_EQ(PagesAt(3), 4u);
  ASSERT_TRUE(Update({Run(1, 1), Run(3, 1)}).ok());
  EXPECT_EQ(PagesAt(0), 0u);
  EXPECT_EQ(PagesAt(1), 1u);
  EXPECT_EQ(PagesAt(3), 1u);
  ASSERT_TRUE(Update({}).ok());
  EXPECT_EQ(PagesAt(1), 0u);
}

TEST_F(MemoryRunsTest, UnmappedMemoryIsForgottenThoughABufferIsRefused) {
  ASSERT_TRUE(Update({Run(0, 4), Run(6, 1)}).ok());
  EXPECT_FALSE(Update({Run(0, 1), Run(2, 2)}, Run(2, 2).address).ok());
  EXPECT_EQ(PagesAt(0), 1u);
  EXPECT_EQ(PagesAt(1), 0u);
  EXPECT_EQ(PagesAt(6), 0u);
}

TEST_F(MemoryRunsTest, ARunThatShrinksIsNotLeftWithItsOldSize) {
  ASSERT_TRUE(Update({Run(0, 4)}).ok());
  EXPECT_FALSE(Update({Run(0, 2)}, kBase).ok());
  EXPECT_EQ(PagesAt(0), 0u);
}

TEST_F(MemoryRunsTest, ALaterUpdateMendsWhatWasRefused) {
  ASSERT_TRUE(Update({Run(0, 1)}).ok());
  EXPECT_FALSE(Update({Run(0, 1), Run(2, 2)}, Run(2, 2).address).ok());
  ASSERT_TRUE(Update({Run(0, 1), Run(2, 2)}).ok());
  EXPECT_EQ(PagesAt(3), 2u);
  ASSERT_TRUE(Update({}).ok());
  EXPECT_EQ(PagesAt(0), 0u);
  EXPECT_EQ(PagesAt(3), 0u);
}

}  // namespace
}  // namespace holdfast::libcuda
