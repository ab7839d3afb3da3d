// SPDX-License-Identifier: Apache-2.0
#include "core/base/ring_pair.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/memfd.h"
#include "core/base/unique_fd.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using testing::StatusIs;

constexpr size_t kMaxMessage = 1000;
constexpr size_t kBytes = 4096 + 2 * (256 << 10);

absl::Status MapExecutorEnd(int memfd) {
  return RingPair::Map(memfd, RingPair::End::kExecutor, kMaxMessage).status();
}

TEST(RingPairTest, EachEndHearsTheOtherAndNotItself) {
  ASSERT_OK_AND_ASSIGN(const UniqueFd memory, RingPair::CreateMemory());
  ASSERT_OK_AND_ASSIGN(
      const auto client,
      RingPair::Map(memory.get(), RingPair::End::kClient, kMaxMessage));
  ASSERT_OK_AND_ASSIGN(
      const auto executor,
      RingPair::Map(memory.get(), RingPair::End::kExecutor, kMaxMessage));
  ASSERT_OK(client->writer().Write("commands"));
  EXPECT_FALSE(client->reader().Ready());
  EXPECT_EQ(**executor->reader().Read(), "commands");
  ASSERT_OK(executor->writer().Write("results"));
  EXPECT_FALSE(executor->reader().Ready());
  EXPECT_EQ(**client->reader().Read(), "results");
}

// As CommandService.Execute's description tells clients in other languages.
TEST(RingPairTest, TheCountsAndBytesLieWhereTheProtocolSays) {
  ASSERT_OK_AND_ASSIGN(const UniqueFd memory, RingPair::CreateMemory());
  ASSERT_OK_AND_ASSIGN(
      const auto client,
      RingPair::Map(memory.get(), RingPair::End::kClient, kMaxMessage));
  ASSERT_OK(client->writer().Write("abc"));
  ASSERT_OK_AND_ASSIGN(
      const FileMapping mapping,
      FileMapping::Map(memory.get(), FileMapping::Access::kReadOnly));
  const absl::string_view bytes = mapping.bytes();
  EXPECT_EQ(bytes.size(), kBytes);
  EXPECT_EQ(bytes.substr(0, 8), absl::string_view("\7\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(4096, 7), absl::string_view("\3\0\0\0abc", 7));
}

TEST(RingPairTest, BytesBehindTheRingsAreSharedIfBothEndsAgree) {
  ASSERT_OK_AND_ASSIGN(const UniqueFd memory, RingPair::CreateMemory(8192));
  ASSERT_OK_AND_ASSIGN(
      const auto client,
      RingPair::Map(memory.get(), RingPair::End::kClient, kMaxMessage, 8192));
  ASSERT_OK_AND_ASSIGN(
      const auto executor,
      RingPair::Map(memory.get(), RingPair::End::kExecutor, kMaxMessage, 8192));
  client->behind()[8191] = 'x';
  EXPECT_EQ(executor->behind()[8191], 'x');
  ASSERT_OK(client->writer().Write("commands"));
  EXPECT_EQ(**executor->reader().Read(), "commands");
  EXPECT_THAT(MapExecutorEnd(memory.get()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "memfd"));
}

// A file that could shrink under the executor is never mapped.
TEST(RingPairTest, MemoryThatCanShrinkIsRefused) {
  const auto memory = CreateMemfd("test", kBytes);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_THAT(MapExecutorEnd(memory->get()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "shrinking"));
}

TEST(RingPairTest, MemoryThatCannotBeWrittenIsRefused) {
  const auto memory = CreateSealedMemfd("test", std::string(kBytes, '\0'));
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_THAT(
      MapExecutorEnd(memory->get()),
      StatusIs(absl::StatusCode::kFailedPrecondition, "no pair of rings"));
}

TEST(RingPairTest, MemoryOfAnotherSizeIsRefused) {
  const auto memory = CreateMemfd("test", 100);
  ASSERT_TRUE(memory.ok()) << memory.status();
  ASSERT_EQ(fcntl(memory->get(), F_ADD_SEALS,
                  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
            0);
  EXPECT_THAT(
      MapExecutorEnd(memory->get()),
      StatusIs(absl::StatusCode::kFailedPrecondition, "no pair of rings"));
}

TEST(RingPairTest, APipeIsRefused) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd read(ends[0]), write(ends[1]);
  EXPECT_THAT(
      MapExecutorEnd(read.get()),
      StatusIs(absl::StatusCode::kFailedPrecondition, "no pair of rings"));
}

}  // namespace
}  // namespace holdfast
