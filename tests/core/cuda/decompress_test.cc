// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/decompress.h"

#include <random>

#include "gtest/gtest.h"

namespace holdfast::cuda {
namespace {

// "abc", a match of 3 bytes back over itself, then "XY" at the end.
const std::string kBlock =
    std::string("\x35") + "abc" + std::string("\x03\x00", 2) + "\x20" + "XY";
const std::string kContent = "abcabcabcabcXY";

TEST(Lz4Test, MatchMayReachIntoItself) {
  std::string content;
  ASSERT_TRUE(DecompressLz4(kBlock, kContent.size(), &content));
  EXPECT_EQ(content, kContent);
}

TEST(Lz4Test, WrongSizeIsRefused) {
  std::string content;
  EXPECT_FALSE(DecompressLz4(kBlock, kContent.size() + 1, &content));
  EXPECT_FALSE(DecompressLz4(kBlock, kContent.size() - 1, &content));
  EXPECT_FALSE(DecompressLz4(kBlock, kMaxDecompressed + 1, &content));
}

TEST(Lz4Test, EveryTruncationIsRefused) {
  std::string content;
  for (size_t size = 0; size < kBlock.size(); ++size) {
    EXPECT_FALSE(
        DecompressLz4(kBlock.substr(0, size), kContent.size(), &content))
        << size;
  }
}

TEST(Lz4Test, MatchBeforeTheBeginningIsRefused) {
  std::string content;
  EXPECT_FALSE(DecompressLz4(std::string("\x10"
                                         "a"
                                         "\x02\x00",
                                         4),
                             5, &content));
}

TEST(DecompressTest, AnyBytesAreTakenWithoutHarm) {
  std::mt19937 random(7);
  std::string content;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    DecompressLz4(bytes, random() % 300, &content);
    DecompressZstd(bytes, random() % 300, &content);
  }
}

}  // namespace
}  // namespace holdfast::cuda
