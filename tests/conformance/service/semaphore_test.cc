// SPDX-License-Identifier: Apache-2.0
//
// Semaphores: streams of one session and of two that wait for each other, and
// waits that nobody ends.
#include "client/cpp/semaphore.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status_macros.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/conformance/service/service.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::conformance {
namespace {

using absl::StatusCode;
using ::holdfast::testing::StatusIs;

class SemaphoreTest : public ServiceTest {};

TEST_F(SemaphoreTest, TheHostSetsAndReadsTheValue) {
  ASSERT_OK_AND_ASSIGN(const Side side, Open());
  ASSERT_OK_AND_ASSIGN(const Semaphore semaphore,
                       side.device().CreateSemaphore(41));
  EXPECT_EQ(*semaphore.Value(), 41u);
  ASSERT_OK(semaphore.Signal(uint64_t{1} << 40));
  EXPECT_EQ(*semaphore.Value(), uint64_t{1} << 40);
  ASSERT_OK(semaphore.Signal(77, side.stream));
  ASSERT_OK(side.stream.Synchronize());
  EXPECT_EQ(*semaphore.Value(), 77u);
}

TEST_F(SemaphoreTest, AStreamWaitsForTheHost) {
  ASSERT_OK_AND_ASSIGN(const Side side, Open());
  ASSERT_OK_AND_ASSIGN(const Semaphore semaphore,
                       side.device().CreateSemaphore());
  ASSERT_OK(semaphore.Wait(3, side.stream));
  ASSERT_OK(semaphore.Signal(2));
  EXPECT_EQ(*semaphore.Value(), 2u);
  EXPECT_FALSE(*side.stream.IsDone());
  ASSERT_OK(semaphore.Signal(3));
  ASSERT_OK(side.stream.Synchronize());
  // A value that is reached already holds nothing up.
  ASSERT_OK(semaphore.Wait(1, side.stream));
  ASSERT_OK(side.stream.Synchronize());
}

// Two sessions add one in turn, each behind a wait for the other.
TEST_F(SemaphoreTest, TwoSessionsTakeTurnsOnOneBuffer) {
  constexpr uint64_t kTurns = 200;
  ASSERT_OK_AND_ASSIGN(const Side one, Open());
  ASSERT_OK_AND_ASSIGN(const Side two, Open());
  ASSERT_OK_AND_ASSIGN(const Semaphore turn, one.device().CreateSemaphore());
  ASSERT_OK_AND_ASSIGN(const std::string turn_token,
                       turn.Export({.rights = Rights::kReadWrite}));
  ASSERT_OK_AND_ASSIGN(const Semaphore same_turn,
                       two.device().ImportSemaphore(turn_token));
  ASSERT_OK_AND_ASSIGN(const Buffer board,
                       one.device().AllocateShared((kTurns + 1) * 4));
  ASSERT_OK(board.Fill(uint32_t{1}, one.stream));
  ASSERT_OK(one.stream.Synchronize());
  ASSERT_OK_AND_ASSIGN(const std::string token,
                       board.Export({.rights = Rights::kReadWrite}));
  ASSERT_OK_AND_ASSIGN(const Buffer same_board, two.device().Import(token));
  // Word n + 1 becomes what word n is: the chain holds if every turn waits.
  ASSERT_OK(board.Fill(uint32_t{7}, 0, 4, one.stream));
  for (uint64_t n = 0; n < kTurns; ++n) {
    const bool first = n % 2 == 0;
    const Side& side = first ? one : two;
    const Semaphore& semaphore = first ? turn : same_turn;
    const Buffer& buffer = first ? board : same_board;
    ASSERT_OK(semaphore.Wait(n, side.stream));
    ASSERT_OK(buffer.CopyFrom(buffer, n * 4, (n + 1) * 4, 4, side.stream));
    ASSERT_OK(semaphore.Signal(n + 1, side.stream));
  }
  ASSERT_OK(one.stream.Synchronize());
  ASSERT_OK(two.stream.Synchronize());
  EXPECT_EQ(*turn.Value(), kTurns);
  std::vector<uint32_t> words(kTurns + 1);
  ASSERT_OK(board.Download(words, one.stream));
  EXPECT_EQ(words, std::vector<uint32_t>(kTurns + 1, 7));
}

TEST_F(SemaphoreTest, AnImporterWithoutTheRightMayWaitAndNotSignal) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side waiter, Open());
  ASSERT_OK_AND_ASSIGN(const Semaphore made, maker.device().CreateSemaphore());
  ASSERT_OK_AND_ASSIGN(const std::string token, made.Export());
  ASSERT_OK_AND_ASSIGN(const Semaphore seen,
                       waiter.device().ImportSemaphore(token));
  ASSERT_OK(seen.Signal(1, waiter.stream));
  EXPECT_THAT(waiter.stream.Synchronize(),
              StatusIs(StatusCode::kPermissionDenied, "RIGHTS_READ"));
  ASSERT_OK(seen.Wait(5, waiter.stream));
  ASSERT_OK(made.Signal(5, maker.stream));
  EXPECT_OK(waiter.stream.Synchronize());
  EXPECT_EQ(*seen.Value(), 5u);
}

TEST_F(SemaphoreTest, AWaitThatNobodyEndsIsNamedAndEndsWithItsSession) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Semaphore made, maker.device().CreateSemaphore());
  ASSERT_OK_AND_ASSIGN(const std::string token, made.Export());
  {
    ASSERT_OK_AND_ASSIGN(const Side stuck, Open());
    ASSERT_OK_AND_ASSIGN(const Semaphore seen,
                         stuck.device().ImportSemaphore(token));
    ASSERT_OK(seen.Wait(9, stuck.stream));
    EXPECT_EQ(*seen.Value(), 0u);  // The wait has been given by now.
    const v1::SessionUsage usage = Info(*stuck.session).usage();
    ASSERT_EQ(usage.waits_size(), 1);
    EXPECT_EQ(usage.waits(0).semaphore(), seen.handle());
    EXPECT_EQ(usage.waits(0).stream(), stuck.stream.handle());
    EXPECT_EQ(usage.waits(0).value(), 9u);
    EXPECT_OK(stuck.session->Close());
  }
  EXPECT_EQ(*made.Value(), 0u);
  ASSERT_OK(made.Signal(9, maker.stream));
  EXPECT_OK(maker.stream.Synchronize());
}

// The rest of the session goes on beside a stream that waits: memory comes and
// goes, other streams work.
TEST_F(SemaphoreTest, AStreamThatWaitsHoldsNothingElseUp) {
  ASSERT_OK_AND_ASSIGN(const Side side, Open());
  ASSERT_OK_AND_ASSIGN(const Stream other, side.device().CreateStream());
  ASSERT_OK_AND_ASSIGN(const Semaphore semaphore,
                       side.device().CreateSemaphore());
  ASSERT_OK(semaphore.Wait(1, side.stream));
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(Buffer large, side.device().Allocate(64 << 20, other));
    ASSERT_OK(large.Fill(uint32_t{5}, other));
    std::vector<uint32_t> word(1);
    ASSERT_OK(large.Download(word, other));
    EXPECT_EQ(word[0], 5u);
    large.Free(other);
    ASSERT_OK(other.Synchronize());
  }
  EXPECT_FALSE(*side.stream.IsDone());
  ASSERT_OK(semaphore.Signal(1));
  ASSERT_OK(side.stream.Synchronize());
}

TEST_F(SemaphoreTest, ItsMakersDeathLeavesTheWaitersTheCounter) {
  const uint64_t before = ReservedBytes();
  ASSERT_OK_AND_ASSIGN(const Side waiter, Open());
  {
    ASSERT_OK_AND_ASSIGN(const Side third, Open());
    ASSERT_OK_AND_ASSIGN(Side maker, Open());
    ASSERT_OK_AND_ASSIGN(const Semaphore made,
                         maker.device().CreateSemaphore());
    ASSERT_OK_AND_ASSIGN(
        const std::string token,
        made.Export({.rights = Rights::kReadWrite, .max_imports = 2}));
    ASSERT_OK_AND_ASSIGN(const Semaphore seen,
                         waiter.device().ImportSemaphore(token));
    ASSERT_OK_AND_ASSIGN(const Semaphore also,
                         third.device().ImportSemaphore(token));
    ASSERT_OK(seen.Wait(1, waiter.stream));
    ASSERT_OK(maker.session->Close());
    ASSERT_OK(also.Signal(1, third.stream));
    EXPECT_OK(waiter.stream.Synchronize());
  }
  ASSERT_OK(waiter.session->Synchronize());
  EXPECT_TRUE(Eventually([&] { return ReservedBytes() == before; }));
}

TEST_F(SemaphoreTest, AHandleOfAnotherKindOrDeviceIsRefused) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side other, Open());
  ASSERT_OK_AND_ASSIGN(const Semaphore made, maker.device().CreateSemaphore());
  ASSERT_OK_AND_ASSIGN(const std::string token, made.Export());
  EXPECT_THAT(other.device().Import(token).status(),
              StatusIs(StatusCode::kInvalidArgument, "is a semaphore"));
  if (session().devices().size() < 2) return;
  ASSERT_OK_AND_ASSIGN(const Stream second,
                       maker.session->device(1).CreateStream());
  ASSERT_OK(made.Wait(0, second));
  EXPECT_THAT(second.Synchronize(),
              StatusIs(StatusCode::kInvalidArgument, "is of device 0"));
}

}  // namespace
}  // namespace holdfast::conformance
