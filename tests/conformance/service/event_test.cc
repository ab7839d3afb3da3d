// SPDX-License-Identifier: Apache-2.0
//
// Events that pass between sessions: streams of one that wait for recordings of
// another, and waits that a fault, or the end of the maker, leaves behind.
#include "client/cpp/event.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "client/cpp/fault.h"
#include "client/cpp/semaphore.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/conformance/service/service.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::conformance {
namespace {

using absl::StatusCode;
using ::holdfast::testing::StatusIs;

constexpr EventOptions kInterprocess = {.interprocess = true};

class EventTest : public ServiceTest {
 protected:
  // An event of one session, as another one sees it.
  struct Shared {
    Event made;
    Event seen;
  };
  static absl::StatusOr<Shared> Share(const Side& maker, const Side& importer) {
    HOLDFAST_ASSIGN_OR_RETURN(Event made,
                              maker.device().CreateEvent(kInterprocess));
    HOLDFAST_ASSIGN_OR_RETURN(const std::string token, made.Export());
    HOLDFAST_ASSIGN_OR_RETURN(Event seen, importer.device().ImportEvent(token));
    return Shared{std::move(made), std::move(seen)};
  }
};

TEST_F(EventTest, AStreamWaitsForAnotherSessionsRecording) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side waiter, Open());
  ASSERT_OK_AND_ASSIGN(const Shared event, Share(maker, waiter));
  // An event that was never recorded holds nothing up.
  EXPECT_TRUE(*event.seen.IsDone());
  EXPECT_OK(event.seen.Synchronize());
  ASSERT_OK(waiter.stream.Wait(event.seen));
  ASSERT_OK(waiter.stream.Synchronize());
  ASSERT_OK_AND_ASSIGN(const Semaphore gate, maker.device().CreateSemaphore());
  for (uint64_t round = 1; round <= 20; ++round) {
    ASSERT_OK(gate.Wait(round, maker.stream));
    ASSERT_OK(maker.stream.Record(event.made));
    EXPECT_FALSE(*event.made.IsDone());  // And the recording was processed.
    EXPECT_FALSE(*event.seen.IsDone());
    ASSERT_OK(waiter.stream.Wait(event.seen));
    EXPECT_FALSE(*waiter.stream.IsDone());
    ASSERT_OK(gate.Signal(round));
    ASSERT_OK(waiter.stream.Synchronize());
    EXPECT_TRUE(*event.seen.IsDone());
    ASSERT_OK(event.seen.Synchronize());
  }
}

// Two sessions copy a word on in turn, each behind the other's event.
TEST_F(EventTest, TwoSessionsTakeTurnsOnOneBuffer) {
  constexpr uint64_t kTurns = 60;
  ASSERT_OK_AND_ASSIGN(const Side one, Open());
  ASSERT_OK_AND_ASSIGN(const Side two, Open());
  ASSERT_OK_AND_ASSIGN(const Shared ping, Share(one, two));
  ASSERT_OK_AND_ASSIGN(const Shared pong, Share(two, one));
  ASSERT_OK_AND_ASSIGN(const Buffer board,
                       one.device().AllocateShared((kTurns + 1) * 4));
  ASSERT_OK(board.Fill(uint32_t{1}, one.stream));
  ASSERT_OK(board.Fill(uint32_t{7}, 0, 4, one.stream));
  ASSERT_OK(one.stream.Synchronize());
  ASSERT_OK_AND_ASSIGN(const std::string token,
                       board.Export({.rights = Rights::kReadWrite}));
  ASSERT_OK_AND_ASSIGN(const Buffer same_board, two.device().Import(token));
  // Word n + 1 becomes what word n is: the chain holds if every turn waits.
  for (uint64_t n = 0; n < kTurns; ++n) {
    const bool first = n % 2 == 0;
    const Side& side = first ? one : two;
    const Buffer& buffer = first ? board : same_board;
    ASSERT_OK(side.stream.Wait(first ? pong.seen : ping.seen));
    ASSERT_OK(buffer.CopyFrom(buffer, n * 4, (n + 1) * 4, 4, side.stream));
    const Event& done = first ? ping.made : pong.made;
    ASSERT_OK(side.stream.Record(done));
    ASSERT_OK(done.IsDone());  // The recording was processed.
  }
  ASSERT_OK(one.stream.Synchronize());
  ASSERT_OK(two.stream.Synchronize());
  std::vector<uint32_t> words(kTurns + 1);
  ASSERT_OK(board.Download(words, one.stream));
  EXPECT_EQ(words, std::vector<uint32_t>(kTurns + 1, 7));
}

// A later recording in another stream may be reached before an earlier one.
TEST_F(EventTest, TheLastRecordingCountsInWhateverStream) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side waiter, Open());
  ASSERT_OK_AND_ASSIGN(const Stream other, maker.device().CreateStream());
  ASSERT_OK_AND_ASSIGN(const Shared event, Share(maker, waiter));
  ASSERT_OK_AND_ASSIGN(const Semaphore gate, maker.device().CreateSemaphore());
  ASSERT_OK(gate.Wait(1, maker.stream));
  ASSERT_OK(maker.stream.Record(event.made));
  EXPECT_FALSE(*event.made.IsDone());
  ASSERT_OK(waiter.stream.Wait(event.seen));
  EXPECT_FALSE(*event.seen.IsDone());
  ASSERT_OK(other.Record(event.made));
  ASSERT_OK(other.Synchronize());
  EXPECT_TRUE(*event.seen.IsDone());
  EXPECT_FALSE(*waiter.stream.IsDone());  // That wait was for the first one.
  ASSERT_OK(gate.Signal(1));
  ASSERT_OK(maker.stream.Synchronize());
  ASSERT_OK(waiter.stream.Synchronize());
  ASSERT_OK(waiter.stream.Wait(event.seen));
  ASSERT_OK(waiter.stream.Synchronize());
}

TEST_F(EventTest, OneExportServesSeveralImportersAndIsRevoked) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side waiter, Open());
  ASSERT_OK_AND_ASSIGN(const Event made,
                       maker.device().CreateEvent(kInterprocess));
  ASSERT_OK_AND_ASSIGN(const std::string token,
                       made.Export({.max_imports = 3}));
  ASSERT_OK_AND_ASSIGN(const Event first, waiter.device().ImportEvent(token));
  // A session may import its own.
  ASSERT_OK_AND_ASSIGN(const Event own, maker.device().ImportEvent(token));
  ASSERT_OK(maker.stream.Record(made));
  ASSERT_OK(maker.stream.Synchronize());
  ASSERT_OK(waiter.stream.Wait(first));
  ASSERT_OK(maker.stream.Wait(own));
  ASSERT_OK(waiter.stream.Synchronize());
  ASSERT_OK(maker.stream.Synchronize());
  ASSERT_OK(maker.session->RevokeExport(token));
  EXPECT_THAT(waiter.device().ImportEvent(token).status(),
              StatusIs(StatusCode::kNotFound, "token"));
  EXPECT_OK(first.Synchronize());
  ASSERT_OK_AND_ASSIGN(const std::string bound,
                       made.Export({.session_id = maker.session->id()}));
  EXPECT_THAT(waiter.device().ImportEvent(bound).status(),
              StatusIs(StatusCode::kPermissionDenied, maker.session->id()));
}

TEST_F(EventTest, OnlyItsMakerRecordsIt) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side waiter, Open());
  ASSERT_OK_AND_ASSIGN(const Shared event, Share(maker, waiter));
  ASSERT_OK(waiter.stream.Record(event.seen));
  EXPECT_THAT(waiter.stream.Synchronize(),
              StatusIs(StatusCode::kFailedPrecondition, "was imported"));
  EXPECT_THAT(event.seen.Export().status(),
              StatusIs(StatusCode::kFailedPrecondition, "was imported"));
  EXPECT_THAT(event.seen.MillisecondsSince(event.seen).status(),
              StatusIs(StatusCode::kFailedPrecondition, "was imported"));
  EXPECT_THAT(event.made.Export({.rights = Rights::kReadWrite}).status(),
              StatusIs(StatusCode::kInvalidArgument, "RIGHTS_READ"));
}

TEST_F(EventTest, WhatCannotBeSharedIsRefused) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side other, Open());
  ASSERT_OK_AND_ASSIGN(const Event plain, maker.device().CreateEvent());
  EXPECT_THAT(plain.Export().status(),
              StatusIs(StatusCode::kFailedPrecondition, "as interprocess"));
  ASSERT_OK_AND_ASSIGN(
      const Event timed,
      maker.device().CreateEvent({.timing = true, .interprocess = true}));
  EXPECT_THAT(maker.session->Synchronize(),
              StatusIs(StatusCode::kInvalidArgument, "has no timing"));
  ASSERT_OK_AND_ASSIGN(const Event made,
                       maker.device().CreateEvent(kInterprocess));
  ASSERT_OK_AND_ASSIGN(const std::string token,
                       made.Export({.max_imports = 9}));
  EXPECT_THAT(other.device().Import(token).status(),
              StatusIs(StatusCode::kInvalidArgument, "is an event"));
  EXPECT_THAT(other.device().ImportSemaphore(token).status(),
              StatusIs(StatusCode::kInvalidArgument, "is an event"));
  EXPECT_THAT(other.device().ImportEvent("short").status(),
              StatusIs(StatusCode::kInvalidArgument, "5 bytes"));
  ASSERT_OK_AND_ASSIGN(const Buffer buffer, maker.device().AllocateShared(4));
  ASSERT_OK_AND_ASSIGN(const std::string of_buffer, buffer.Export());
  EXPECT_THAT(other.device().ImportEvent(of_buffer).status(),
              StatusIs(StatusCode::kInvalidArgument, "is a buffer"));
}

TEST_F(EventTest, AnotherDevicesStreamIsRefused) {
  if (session().devices().size() < 2) GTEST_SKIP() << "one device";
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side waiter, Open());
  ASSERT_OK_AND_ASSIGN(const Shared event, Share(maker, waiter));
  ASSERT_OK_AND_ASSIGN(const Stream second,
                       waiter.session->device(1).CreateStream());
  ASSERT_OK(second.Wait(event.seen));
  EXPECT_THAT(second.Synchronize(),
              StatusIs(StatusCode::kInvalidArgument, "for device 0"));
}

// The fault comes before the first export.
TEST_F(EventTest, AnEventCanBeSharedAfterAFault) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Event made,
                       maker.device().CreateEvent(kInterprocess));
  ASSERT_OK(maker.stream.Record(made));
  ASSERT_OK(maker.session->Synchronize());
  KillExecutor(*maker.session);
  EXPECT_EQ(maker.session->Synchronize().code(), StatusCode::kAborted);
  ASSERT_OK_AND_ASSIGN(const std::string token, made.Export());
  ASSERT_OK_AND_ASSIGN(const Side waiter, Open());
  ASSERT_OK_AND_ASSIGN(const Event seen, waiter.device().ImportEvent(token));
  EXPECT_TRUE(*seen.IsDone());
}

TEST_F(EventTest, AWaitThatIsPendingIsNamedAndEndsWithItsSession) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Semaphore gate, maker.device().CreateSemaphore());
  ASSERT_OK(gate.Wait(1, maker.stream));
  {
    ASSERT_OK_AND_ASSIGN(const Side stuck, Open());
    ASSERT_OK_AND_ASSIGN(const Shared event, Share(maker, stuck));
    ASSERT_OK(maker.stream.Record(event.made));
    EXPECT_FALSE(*event.made.IsDone());
    ASSERT_OK(stuck.stream.Wait(event.seen));
    EXPECT_FALSE(*stuck.stream.IsDone());
    const v1::SessionUsage usage = Info(*stuck.session).usage();
    ASSERT_EQ(usage.waits_size(), 1);
    EXPECT_EQ(usage.waits(0).semaphore(), event.seen.handle());
    EXPECT_EQ(usage.waits(0).stream(), stuck.stream.handle());
    EXPECT_OK(stuck.session->Close());
  }
  ASSERT_OK(gate.Signal(1));
  EXPECT_OK(maker.stream.Synchronize());
}

// Nothing would ever reach the recording: the waits end, and so do later ones.
TEST_F(EventTest, TheEndOfItsMakerEndsTheWaits) {
  const uint64_t before = ReservedBytes();
  {
    ASSERT_OK_AND_ASSIGN(const Side waiter, Open());
    ASSERT_OK_AND_ASSIGN(const Side third, Open());
    ASSERT_OK_AND_ASSIGN(Side maker, Open());
    ASSERT_OK_AND_ASSIGN(const Semaphore gate,
                         maker.device().CreateSemaphore());
    ASSERT_OK_AND_ASSIGN(const Event made,
                         maker.device().CreateEvent(kInterprocess));
    ASSERT_OK_AND_ASSIGN(const std::string token,
                         made.Export({.max_imports = 2}));
    ASSERT_OK_AND_ASSIGN(const Event seen, waiter.device().ImportEvent(token));
    ASSERT_OK_AND_ASSIGN(const Event also, third.device().ImportEvent(token));
    ASSERT_OK(gate.Wait(1, maker.stream));
    ASSERT_OK(maker.stream.Record(made));
    EXPECT_FALSE(*made.IsDone());
    ASSERT_OK(waiter.stream.Wait(seen));
    ASSERT_OK(third.stream.Wait(also));
    EXPECT_FALSE(*waiter.stream.IsDone());
    EXPECT_FALSE(*third.stream.IsDone());
    ASSERT_OK(maker.session->Close());
    EXPECT_OK(waiter.stream.Synchronize());
    EXPECT_OK(third.stream.Synchronize());
    EXPECT_TRUE(*seen.IsDone());
    EXPECT_OK(also.Synchronize());
    ASSERT_OK(third.stream.Wait(also));
    EXPECT_OK(third.stream.Synchronize());
  }
  EXPECT_TRUE(Eventually([&] { return ReservedBytes() == before; }));
}

// The fault has dropped the recording, so that nothing waits for it any more;
// the event goes on under its handle and its token.
TEST_F(EventTest, AFaultOfItsMakerEndsTheWaitsAndTheEventGoesOn) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side waiter, Open());
  ASSERT_OK_AND_ASSIGN(const Stream other, maker.device().CreateStream());
  ASSERT_OK_AND_ASSIGN(const Event made,
                       maker.device().CreateEvent(kInterprocess));
  ASSERT_OK_AND_ASSIGN(const std::string token,
                       made.Export({.max_imports = 2}));
  ASSERT_OK_AND_ASSIGN(const Event seen, waiter.device().ImportEvent(token));
  ASSERT_OK_AND_ASSIGN(const Semaphore gate, maker.device().CreateSemaphore());
  ASSERT_OK(other.Record(made));
  ASSERT_OK(gate.Wait(1, maker.stream));
  ASSERT_OK(maker.stream.Record(made));
  EXPECT_FALSE(*made.IsDone());
  ASSERT_OK(waiter.stream.Wait(seen));
  EXPECT_FALSE(*waiter.stream.IsDone());
  KillExecutor(*maker.session);
  EXPECT_OK(waiter.stream.Synchronize());
  const absl::Status fault = maker.session->Synchronize();
  EXPECT_EQ(fault.code(), StatusCode::kAborted) << fault;
  const auto report = FaultOf(fault);
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->lost_size(), 0);

  ASSERT_OK(gate.Signal(0));
  ASSERT_OK(gate.Wait(2, maker.stream));
  ASSERT_OK(maker.stream.Record(made));
  EXPECT_FALSE(*made.IsDone());
  ASSERT_OK_AND_ASSIGN(const Event again, waiter.device().ImportEvent(token));
  EXPECT_FALSE(*seen.IsDone());
  ASSERT_OK(waiter.stream.Wait(seen));
  ASSERT_OK(waiter.stream.Wait(again));
  EXPECT_FALSE(*waiter.stream.IsDone());
  ASSERT_OK(gate.Signal(2));
  EXPECT_OK(waiter.stream.Synchronize());
  EXPECT_TRUE(*seen.IsDone());
}

// Memory that CUDA's older IPC shares cannot outlive its executor.
TEST_F(EventTest, AFaultNamesMemoryForIpcHandlesAsLost) {
  ASSERT_OK_AND_ASSIGN(const Side side, Open());
  ASSERT_OK_AND_ASSIGN(const Buffer kept, side.device().Allocate(4));
  ASSERT_OK_AND_ASSIGN(const Buffer buffer, side.device().AllocateIpc(4096));
  ASSERT_OK(side.session->Synchronize());
  KillExecutor(*side.session);
  const absl::Status fault = side.session->Synchronize();
  const auto report = FaultOf(fault);
  ASSERT_TRUE(report.has_value()) << fault;
  ASSERT_EQ(report->lost_size(), 1);
  EXPECT_EQ(report->lost(0).handle(), buffer.handle());
  EXPECT_TRUE(absl::StrContains(report->lost(0).reason(), "IPC handle"));
  ASSERT_OK(buffer.Fill(uint32_t{1}, side.stream));
  EXPECT_THAT(side.stream.Synchronize(),
              StatusIs(StatusCode::kDataLoss, "IPC handle"));
  ASSERT_OK(kept.Fill(uint32_t{1}, side.stream));
  EXPECT_OK(side.stream.Synchronize());
}

TEST_F(EventTest, AFaultOfAnImporterKeepsWhatItHasImported) {
  ASSERT_OK_AND_ASSIGN(const Side maker, Open());
  ASSERT_OK_AND_ASSIGN(const Side waiter, Open());
  ASSERT_OK_AND_ASSIGN(const Shared event, Share(maker, waiter));
  ASSERT_OK_AND_ASSIGN(const Semaphore gate, maker.device().CreateSemaphore());
  ASSERT_OK(gate.Wait(1, maker.stream));
  ASSERT_OK(maker.stream.Record(event.made));
  EXPECT_FALSE(*event.made.IsDone());
  ASSERT_OK(waiter.stream.Wait(event.seen));
  EXPECT_FALSE(*waiter.stream.IsDone());
  KillExecutor(*waiter.session);
  const absl::Status fault = waiter.session->Synchronize();
  EXPECT_EQ(fault.code(), StatusCode::kAborted) << fault;
  const auto report = FaultOf(fault);
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->lost_size(), 0);
  EXPECT_FALSE(*event.seen.IsDone());
  ASSERT_OK(waiter.stream.Wait(event.seen));
  EXPECT_FALSE(*waiter.stream.IsDone());
  ASSERT_OK(gate.Signal(1));
  EXPECT_OK(waiter.stream.Synchronize());
}

TEST_F(EventTest, ItsMemoryGoesWithTheLastUser) {
  const uint64_t before = ReservedBytes();
  {
    ASSERT_OK_AND_ASSIGN(const Side waiter, Open());
    ASSERT_OK_AND_ASSIGN(const Side maker, Open());
    for (int i = 0; i < 40; ++i) {
      ASSERT_OK_AND_ASSIGN(const Shared event, Share(maker, waiter));
      ASSERT_OK(maker.stream.Record(event.made));
      ASSERT_OK(event.made.IsDone());
      ASSERT_OK(waiter.stream.Wait(event.seen));
    }
    ASSERT_OK(waiter.session->Synchronize());
    ASSERT_OK(maker.session->Synchronize());
    EXPECT_TRUE(Eventually(
        [&] { return Info(*waiter.session).usage().imports().used() == 0; }));
  }
  EXPECT_TRUE(Eventually([&] { return ReservedBytes() == before; }));
}

}  // namespace
}  // namespace holdfast::conformance
