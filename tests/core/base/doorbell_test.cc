// SPDX-License-Identifier: Apache-2.0
#include "core/base/doorbell.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/memfd.h"
#include "core/base/unique_fd.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using testing::StatusIs;

TEST(DoorbellTest, EachEndHearsTheOtherAndNotItself) {
  const auto memory = Doorbell::CreateMemory();
  ASSERT_TRUE(memory.ok()) << memory.status();
  const auto client = Doorbell::Map(memory->get(), Doorbell::End::kClient);
  const auto executor = Doorbell::Map(memory->get(), Doorbell::End::kExecutor);
  ASSERT_TRUE(client.ok() && executor.ok());

  client->Ring();
  client->Ring();
  EXPECT_EQ(executor->rung(), 2);
  EXPECT_EQ(client->rung(), 0);
  executor->Ring();
  EXPECT_EQ(executor->rung(), 2);
  EXPECT_EQ(client->rung(), 1);
}

TEST(DoorbellTest, RingsAfterItHasBeenMoved) {
  const auto memory = Doorbell::CreateMemory();
  ASSERT_TRUE(memory.ok()) << memory.status();
  auto first = Doorbell::Map(memory->get(), Doorbell::End::kClient);
  const auto executor = Doorbell::Map(memory->get(), Doorbell::End::kExecutor);
  ASSERT_TRUE(first.ok() && executor.ok());
  const Doorbell moved = *std::move(first);
  moved.Ring();
  EXPECT_EQ(executor->rung(), 1);
}

// What could take the page away from under the executor is never mapped.
TEST(DoorbellTest, MemoryThatCanShrinkIsRefused) {
  const auto memory = CreateMemfd("test", 4096);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_THAT(Doorbell::Map(memory->get(), Doorbell::End::kExecutor).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, "shrinking"));
}

TEST(DoorbellTest, MemoryThatCannotBeWrittenIsRefused) {
  const auto memory = CreateSealedMemfd("test", std::string(4096, '\0'));
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_THAT(Doorbell::Map(memory->get(), Doorbell::End::kExecutor).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, "no doorbell"));
}

TEST(DoorbellTest, MemoryOfAnotherSizeIsRefused) {
  const auto memory = CreateMemfd("test", 100);
  ASSERT_TRUE(memory.ok()) << memory.status();
  ASSERT_EQ(fcntl(memory->get(), F_ADD_SEALS,
                  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
            0);
  EXPECT_THAT(Doorbell::Map(memory->get(), Doorbell::End::kExecutor).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, "no doorbell"));
}

TEST(DoorbellTest, APipeIsRefused) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd read(ends[0]), write(ends[1]);
  EXPECT_THAT(Doorbell::Map(read.get(), Doorbell::End::kExecutor).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, "no doorbell"));
}

}  // namespace
}  // namespace holdfast
