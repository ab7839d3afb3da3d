// SPDX-License-Identifier: Apache-2.0
#include "server/collections/move_turns.h"

#include <gtest/gtest.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/match.h"

namespace holdfast::collections {
namespace {

// Looks once whether it is the place's turn.
bool HasTurn(MoveTurns& turns, MoveTurns::Place& place) {
  int asked = 0;
  const absl::Status status =
      turns.Await(place, [&asked] { return asked++ > 0; });
  EXPECT_TRUE(status.ok() || absl::IsCancelled(status)) << status;
  return status.ok();
}

TEST(MoveTurnsTest, ReadersGoBeforeCallsAndEachInOrder) {
  MoveTurns turns;
  auto moving = *turns.AddCall("anna");
  ASSERT_TRUE(HasTurn(turns, *moving));
  auto first_call = *turns.AddCall("anna");
  auto second_call = *turns.AddCall("ben");
  auto first_reader = turns.AddReader();
  auto second_reader = turns.AddReader();
  EXPECT_FALSE(HasTurn(turns, *first_reader));

  moving = nullptr;
  EXPECT_FALSE(HasTurn(turns, *first_call));
  EXPECT_FALSE(HasTurn(turns, *second_reader));
  EXPECT_TRUE(HasTurn(turns, *first_reader));
  EXPECT_FALSE(HasTurn(turns, *second_reader));
  first_reader = nullptr;
  EXPECT_FALSE(HasTurn(turns, *first_call));
  EXPECT_TRUE(HasTurn(turns, *second_reader));
  second_reader = nullptr;
  EXPECT_FALSE(HasTurn(turns, *second_call));
  // One that gives up holds nobody back.
  first_call = nullptr;
  EXPECT_TRUE(HasTurn(turns, *second_call));
}

TEST(MoveTurnsTest, AClientHasFewCallsThatWait) {
  MoveTurns turns;
  const auto moving = *turns.AddCall("anna");
  ASSERT_TRUE(HasTurn(turns, *moving));
  auto one = *turns.AddCall("anna");
  const auto other = *turns.AddCall("anna");
  const absl::Status refused = turns.AddCall("anna").status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "limit of a client: 2"))
      << refused;
  EXPECT_TRUE(turns.AddCall("ben").ok());
  one = nullptr;
  EXPECT_TRUE(turns.AddCall("anna").ok());
}

}  // namespace
}  // namespace holdfast::collections
