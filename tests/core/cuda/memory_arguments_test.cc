// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/memory_arguments.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>

namespace holdfast::cuda {
namespace {

TEST(ReadPitchTest, RowsBeginAtAPitch) {
  size_t pitch = 0;
  EXPECT_EQ(ReadPitch(1, 3, 4, &pitch), CUDA_SUCCESS);
  EXPECT_EQ(pitch, 512u);
  EXPECT_EQ(ReadPitch(513, 3, 16, &pitch), CUDA_SUCCESS);
  EXPECT_EQ(pitch, 1024u);
}

TEST(ReadPitchTest, RowsBeyondTheAddressSpaceAreRefused) {
  size_t pitch = 7;
  EXPECT_EQ(ReadPitch(SIZE_MAX - 1, 1, 4, &pitch), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(ReadPitch(513, SIZE_MAX / 1024 + 1, 4, &pitch),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(ReadPitch(8, 0, 4, &pitch), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ReadPitch(8, 1, 2, &pitch), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(pitch, 7u);
}

// More pages than are looked at together.
constexpr size_t kPage = 4096;
constexpr size_t kSize = 5000 * kPage;

class IsMappedTest : public testing::Test {
 protected:
  void SetUp() override {
    void* const mapped = mmap(nullptr, kSize, PROT_READ,
                              MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    memory_ = static_cast<char*>(mapped);
  }
  void TearDown() override { munmap(memory_, kSize); }

  char* memory_ = nullptr;
};

TEST_F(IsMappedTest, ARangeIsMappedWithoutAHole) {
  EXPECT_TRUE(IsMapped(memory_, kSize));
  EXPECT_TRUE(IsMapped(memory_ + 100, 1));
  ASSERT_EQ(munmap(memory_ + kSize - kPage, kPage), 0);
  EXPECT_FALSE(IsMapped(memory_, kSize));
  EXPECT_TRUE(IsMapped(memory_, kSize - kPage));
}

// A table of its pages would not fit into memory.
TEST_F(IsMappedTest, ARangeBeyondTheAddressSpaceIsNotMapped) {
  EXPECT_FALSE(IsMapped(memory_, SIZE_MAX));
  EXPECT_FALSE(IsMapped(memory_, SIZE_MAX / 2));
}

}  // namespace
}  // namespace holdfast::cuda
