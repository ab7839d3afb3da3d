// SPDX-License-Identifier: Apache-2.0
//
// Commands that fail: the failure belongs to its command and to what depends
// on it, and to nothing else.
#include <grpcpp/generic/generic_stub.h>

#include <limits>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "proto/metadata.h"
#include "tests/server/executor/executor_fixture.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

using grpc::StatusCode;

class FailureTest : public ExecutorTest {
 protected:
  // Stream 0 and buffer 0 of 1024 bytes; the next number is 10.
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ExecutorTest::SetUp());
    Batch batch;
    batch.CreateStream(StreamName(0));
    batch.Allocate(BufferName(0), 1024);
    const auto results = Run(batch);
    ASSERT_TRUE(results.empty()) << results.begin()->second.DebugString();
  }

  // The one result of a batch with one command.
  v1::Error ErrorOf(const Batch& batch) {
    const auto results = Run(batch);
    EXPECT_EQ(results.size(), 1u);
    if (results.empty()) return {};
    EXPECT_TRUE(results.begin()->second.has_error());
    return results.begin()->second.error();
  }
};

// gRPC alone says INTERNAL, without a word.
TEST_F(FailureTest, WhatIsNoRequestIsAnInvalidArgument) {
  const grpc::Slice slice(std::string("\xff no protobuf"));
  const grpc::ByteBuffer garbage(&slice, 1);
  for (const char* method : {"/holdfast.v1.CommandService/Run",
                             "/holdfast.v1.TransferService/RegisterArena"}) {
    const auto context = Context();
    grpc::GenericStub stub(connection());
    grpc::CompletionQueue queue;
    const auto call = stub.PrepareCall(context.get(), method, &queue);
    grpc::Status status;
    const auto await = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      ASSERT_TRUE(queue.Next(&tag, &ok));
    };
    call->StartCall(nullptr);
    await();
    call->WriteLast(garbage, grpc::WriteOptions(), nullptr);
    await();
    call->Finish(&status, nullptr);
    await();
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << method;
    EXPECT_FALSE(status.error_message().empty()) << method;
  }
}

TEST_F(FailureTest, OneFailureAnywhereInALongBatchIsExactlyThat) {
  constexpr uint64_t kLength = 300;
  uint64_t first = 10;
  for (uint64_t position = 0; position < kLength; ++position) {
    Batch batch(first);
    for (uint64_t i = 0; i < kLength; ++i) {
      // One writes a byte beyond the end.
      batch.FillWord(StreamName(0), BufferName(0), i == position ? 1024 : 0, 4,
                     static_cast<uint32_t>(i));
    }
    const uint64_t read = batch.Read(StreamName(0), BufferName(0), 0, 4);
    const uint64_t fence = batch.Fence();
    const auto results = Run(batch);
    ASSERT_EQ(results.size(), 3u) << position;
    EXPECT_EQ(results.at(first + position).error().code(),
              StatusCode::OUT_OF_RANGE);
    EXPECT_EQ(results.at(fence).fence().failures(), 1u);
    EXPECT_EQ(results.at(fence).fence().first_failed_sequence(),
              first + position);
    EXPECT_EQ(results.at(fence).fence().first_error().code(),
              StatusCode::OUT_OF_RANGE);
    const uint32_t last = position == kLength - 1 ? kLength - 2 : kLength - 1;
    EXPECT_EQ(results.at(read).data(),
              std::string({static_cast<char>(last & 255),
                           static_cast<char>(last >> 8), 0, 0}));
    first = fence + 1;
  }
}

TEST_F(FailureTest, AFenceReportsTheFirstAndForgets) {
  Batch batch(10);
  batch.FillWord(StreamName(0), BufferName(0), 2048, 4, 0);
  batch.FillWord(StreamName(0), BufferName(9), 0, 4, 0);
  const uint64_t first = batch.Fence();
  const uint64_t second = batch.Fence();
  const auto results = Run(batch);
  EXPECT_EQ(results.at(first).fence().failures(), 2u);
  EXPECT_EQ(results.at(first).fence().first_failed_sequence(), 10u);
  EXPECT_EQ(results.at(second).fence().failures(), 0u);
  EXPECT_FALSE(results.at(second).fence().has_first_error());
}

TEST_F(FailureTest, AHandleThatWasNeverMadeRepeatsTheFirstCause) {
  Batch batch(10);
  const uint64_t create = batch.CreateStream(StreamName(1), 1000);
  const uint64_t sync = batch.Synchronize(StreamName(1));
  const uint64_t fill = batch.FillWord(StreamName(1), BufferName(0), 0, 4, 0);
  const auto results = Run(batch);
  const std::string cause = results.at(create).error().message();
  EXPECT_TRUE(absl::StrContains(cause, "1000")) << cause;
  EXPECT_TRUE(absl::StrContains(results.at(sync).error().message(), cause));
  EXPECT_TRUE(absl::StrContains(results.at(fill).error().message(), cause));
  EXPECT_EQ(results.at(fill).error().code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(FailureTest, ForgedHandlesAreRefusedEachInItsWay) {
  auto code = [&, next = uint64_t{10}](uint64_t buffer) mutable {
    Batch batch(next++);
    batch.FillWord(StreamName(0), buffer, 0, 4, 0);
    return ErrorOf(batch).code();
  };
  EXPECT_EQ(code(0), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code(StreamName(0)), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code(BufferName(0, 0)), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code(BufferName(1 << 18)), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code(BufferName(0xffffffff)), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code(~uint64_t{0}), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code(BufferName(1)), StatusCode::NOT_FOUND);
  EXPECT_EQ(code((1 << 18) - 1 + (BufferName(0))), StatusCode::NOT_FOUND);
  EXPECT_EQ(code(BufferName(0, 2)), StatusCode::NOT_FOUND);
}

TEST_F(FailureTest, StaleHandlesNeverReachTheirSuccessor) {
  Batch batch(10);
  batch.Free(BufferName(0), StreamName(0));
  const uint64_t freed = batch.Read(StreamName(0), BufferName(0), 0, 1);
  batch.Allocate(BufferName(0, 5), 16);
  const uint64_t stale = batch.Read(StreamName(0), BufferName(0), 0, 1);
  const uint64_t older = batch.Read(StreamName(0), BufferName(0, 4), 0, 1);
  const uint64_t again = batch.Allocate(BufferName(0, 3), 16);
  const uint64_t twice = batch.Allocate(BufferName(0, 5), 16);
  const auto results = Run(batch);
  for (const uint64_t sequence : {freed, stale, older, again}) {
    EXPECT_EQ(results.at(sequence).error().code(),
              StatusCode::FAILED_PRECONDITION)
        << sequence;
  }
  EXPECT_EQ(results.at(twice).error().code(), StatusCode::ALREADY_EXISTS);
}

TEST_F(FailureTest, RangesThatOverflowAreOutOfRange) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  Batch batch(10);
  batch.Allocate(BufferName(1), 1024);
  const uint64_t first = batch.last_sequence() + 1;
  batch.Copy(StreamName(0), BufferName(0), 0, BufferName(1), 1, 1024);
  batch.Copy(StreamName(0), BufferName(0), kMax, BufferName(1), 0, 2);
  batch.Copy(StreamName(0), BufferName(0), 0, BufferName(1), kMax - 1, 4);
  batch.Copy(StreamName(0), BufferName(0), 0, BufferName(1), 0, kMax);
  batch.FillWord(StreamName(0), BufferName(0), kMax - 3, 4, 0);
  batch.FillWord(StreamName(0), BufferName(0), 4, kMax - 3, 0);
  batch.Read(StreamName(0), BufferName(0), kMax, 1);
  batch.Write(StreamName(0), BufferName(0), 1023, "xy");
  auto& sub = *batch.Add().mutable_create_sub_buffer();
  sub.set_buffer(BufferName(2));
  sub.set_parent(BufferName(0));
  sub.set_offset(kMax);
  sub.set_size(kMax);
  const auto results = Run(batch);
  EXPECT_EQ(results.size(), batch.last_sequence() - first + 1);
  for (const auto& [sequence, result] : results) {
    EXPECT_EQ(result.error().code(), StatusCode::OUT_OF_RANGE) << sequence;
  }
}

TEST_F(FailureTest, OverlappingCopiesAreRefused) {
  Batch batch(10);
  batch.Copy(StreamName(0), BufferName(0), 0, BufferName(0), 100, 101);
  EXPECT_EQ(ErrorOf(batch).code(), StatusCode::INVALID_ARGUMENT);
  Batch apart(11);
  apart.Copy(StreamName(0), BufferName(0), 0, BufferName(0), 100, 100);
  EXPECT_TRUE(Run(apart).empty());
}

TEST_F(FailureTest, FillsThatDoNotFitAreRefused) {
  Batch batch(10);
  batch.FillWord(StreamName(0), BufferName(0), 0, 6, 0);
  batch.FillWord(StreamName(0), BufferName(0), 2, 4, 0);
  const auto none = batch.Add().mutable_fill_buffer();
  none->set_stream(StreamName(0));
  none->set_buffer(BufferName(0));
  none->set_size(4);
  const auto results = Run(batch);
  ASSERT_EQ(results.size(), 3u);
  for (const auto& [sequence, result] : results) {
    EXPECT_EQ(result.error().code(), StatusCode::INVALID_ARGUMENT) << sequence;
  }
}

TEST_F(FailureTest, TooManyInlineBytesAreRefused) {
  Batch batch(10);
  batch.Allocate(BufferName(1), 1 << 20);
  const uint64_t write = batch.Write(StreamName(0), BufferName(1), 0,
                                     std::string((64 << 10) + 1, 'x'));
  const uint64_t read =
      batch.Read(StreamName(0), BufferName(1), 0, (64 << 10) + 1);
  const auto results = Run(batch);
  EXPECT_TRUE(results.at(write).has_error());
  EXPECT_TRUE(results.at(read).has_error());
}

TEST_F(FailureTest, AnAllocationLargerThanTheDeviceSaysHowLargeItIs) {
  Batch batch(10);
  batch.Allocate(BufferName(1), ready().devices(0).total_memory() + 1);
  const v1::Error error = ErrorOf(batch);
  EXPECT_EQ(error.code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(absl::StrContains(
      error.message(), std::to_string(ready().devices(0).total_memory() + 1)))
      << error.message();
  Batch max(11);
  max.Allocate(BufferName(2), ~uint64_t{0});
  EXPECT_EQ(ErrorOf(max).code(), StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(FailureTest, ACommandOfNoKnownKindIsUnimplemented) {
  Batch batch(10);
  batch.Add();
  EXPECT_EQ(ErrorOf(batch).code(), StatusCode::UNIMPLEMENTED);
}

TEST_F(FailureTest, CommandsWithoutARowInTheTableSayThatTheyAreNotServed) {
  std::set<std::string> served;
#define HOLDFAST_COMMAND(field, Message, ...) served.insert(#field);
#include "proto/commands.inc"
  const auto& type = *v1::Command::descriptor();
  Batch batch(10);
  for (int i = 0; i < type.field_count(); ++i) {
    v1::Command& command = batch.Add();
    command.GetReflection()->MutableMessage(&command, type.field(i));
  }
  const auto results = Run(batch);
  for (int i = 0; i < type.field_count(); ++i) {
    const std::string& name = type.field(i)->name();
    const auto found = results.find(10 + static_cast<uint64_t>(i));
    const bool refused =
        found != results.end() &&
        found->second.error().code() ==
            static_cast<int>(StatusCode::UNIMPLEMENTED) &&
        found->second.error().message() == name + " is not served";
    EXPECT_EQ(refused, served.count(name) == 0) << name;
  }
}

TEST_F(FailureTest, UnknownDevicesAreRefused) {
  Batch batch(10);
  auto& command = *batch.Add().mutable_create_stream();
  command.set_stream(StreamName(1));
  command.set_device(4000000000);
  EXPECT_TRUE(absl::StrContains(ErrorOf(batch).message(), "4000000000"));
}

TEST_F(FailureTest, ElapsedTimeOfUnrecordedEventsIsAPrecondition) {
  Batch batch(10);
  for (uint32_t i = 0; i < 2; ++i) {
    auto& create = *batch.Add().mutable_create_event();
    create.set_event(EventName(i));
    create.set_timing(true);
  }
  auto& elapsed = *batch.Add().mutable_elapsed_time();
  elapsed.set_start(EventName(0));
  elapsed.set_end(EventName(1));
  const v1::Error error = ErrorOf(batch);
  EXPECT_EQ(error.code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(absl::StrContains(error.message(), "recorded"));
}

TEST_F(FailureTest, SequenceNumbersMustIncrease) {
  Batch repeated(2);  // The last one was 2.
  repeated.Fence();
  EXPECT_EQ(RunStatus(repeated.proto()).error_code(),
            StatusCode::INVALID_ARGUMENT);
  Batch zero(0);
  zero.Fence();
  EXPECT_EQ(RunStatus(zero.proto()).error_code(), StatusCode::INVALID_ARGUMENT);
  Batch wrapping(std::numeric_limits<uint64_t>::max());
  wrapping.Fence();
  wrapping.Fence();
  EXPECT_EQ(RunStatus(wrapping.proto()).error_code(),
            StatusCode::INVALID_ARGUMENT);
  Batch next(3);
  next.Fence();
  EXPECT_TRUE(RunStatus(next.proto()).ok());
}

TEST_F(FailureTest, ABatchHasALimit) {
  Batch batch(10);
  for (int i = 0; i < 4097; ++i) batch.Fence(false);
  EXPECT_EQ(RunStatus(batch.proto()).error_code(),
            StatusCode::INVALID_ARGUMENT);
}

TEST_F(FailureTest, CallsNeedTheSessionsToken) {
  Batch batch(10);
  batch.Fence();
  v1::ResultBatch results;
  grpc::ClientContext none;
  EXPECT_EQ(commands().Run(&none, batch.proto(), &results).error_code(),
            StatusCode::UNAUTHENTICATED);
  grpc::ClientContext wrong;
  wrong.AddMetadata(kSessionTokenKey.name, std::string(32, '0'));
  EXPECT_EQ(commands().Run(&wrong, batch.proto(), &results).error_code(),
            StatusCode::NOT_FOUND);
  grpc::ClientContext malformed;
  malformed.AddMetadata(kSessionTokenKey.name, "x");
  EXPECT_EQ(commands().Run(&malformed, batch.proto(), &results).error_code(),
            StatusCode::UNAUTHENTICATED);
}

TEST_F(FailureTest, OneExecuteStreamAtATime) {
  auto context = Context();
  auto first = commands().Execute(context.get());
  first->WaitForInitialMetadata();  // It is served.
  auto second_context = Context();
  auto second = commands().Execute(second_context.get());
  second->WritesDone();
  v1::ResultBatch results;
  EXPECT_FALSE(second->Read(&results));
  EXPECT_EQ(second->Finish().error_code(), StatusCode::FAILED_PRECONDITION);
  first->WritesDone();
  EXPECT_FALSE(first->Read(&results));
  EXPECT_TRUE(first->Finish().ok());
}

TEST_F(FailureTest, ACancelledExecuteLeavesTheSessionUsable) {
  {
    auto context = Context();
    auto stream = commands().Execute(context.get());
    Batch batch(10);
    for (int i = 0; i < 1000; ++i) {
      batch.Read(StreamName(0), BufferName(0), 0, 1024);
    }
    ASSERT_TRUE(stream->Write(batch.proto()));
    context->TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  }
  Batch batch(100000);
  const uint64_t fence = batch.Fence();
  EXPECT_TRUE(Run(batch).at(fence).has_fence());
}

}  // namespace
}  // namespace holdfast::testing
