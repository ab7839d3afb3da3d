// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/transfer/background_copy.h"

#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast {
namespace {

TEST(BackgroundCopyTest, ChunksLieOneBehindTheOtherWhenItEnds) {
  std::string expected;
  std::vector<ChunkData> chunks;
  for (int i = 0; i < 20; ++i) {
    const std::string first(1000 + static_cast<size_t>(i),
                            static_cast<char>('a' + i));
    const std::string second(i % 3 == 0 ? 0 : 70'000, '.');
    expected += first + second;
    chunks.push_back(ChunkData({grpc::Slice(first), grpc::Slice(second)}));
  }
  std::string copied(expected.size(), '\0');
  {
    BackgroundCopy copy(copied.data());
    for (ChunkData& chunk : chunks) copy.Append(std::move(chunk));
  }
  EXPECT_EQ(copied == expected, true);
}

TEST(BackgroundCopyTest, AProcessThatMayHaveNoOtherThreadCopiesAsWell) {
  pthread_attr_t before, huge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
  // There are no addresses for the stack.
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 50), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  std::string copied(6, '.');
  {
    BackgroundCopy copy(copied.data());
    for (const char* const text : {"abc", "def"}) {
      copy.Append(ChunkData({grpc::Slice(std::string(text))}));
    }
  }
  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
  EXPECT_EQ(copied, "abcdef");
}

TEST(BackgroundCopyTest, NothingIsCopiedIfNothingComes) {
  char byte = 'x';
  { const BackgroundCopy copy(&byte); }
  EXPECT_EQ(byte, 'x');
}

}  // namespace
}  // namespace holdfast
