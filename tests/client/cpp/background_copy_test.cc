// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/transfer/background_copy.h"

#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

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

TEST(BackgroundCopyTest, NothingIsCopiedIfNothingComes) {
  char byte = 'x';
  { const BackgroundCopy copy(&byte); }
  EXPECT_EQ(byte, 'x');
}

}  // namespace
}  // namespace holdfast
