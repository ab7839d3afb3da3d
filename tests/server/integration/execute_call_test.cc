// SPDX-License-Identifier: Apache-2.0
//
// A remote client's Execute call, which the daemon carries through rings of
// shared memory, at the protocol: nothing shows of them.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "proto/metadata.h"
#include "tests/server/integration/daemon_fixture.h"

namespace holdfast {
namespace {

class ExecuteCallTest : public DaemonTest {
 protected:
  struct Call {
    explicit Call(ExecuteCallTest& test) {
      test.session_.AddToken(&context);
      stub = v1::CommandService::NewStub(test.tcp_);
    }
    void Begin() { stream = stub->Execute(&context); }
    bool Fences(uint64_t first, int count) {
      v1::CommandBatch batch;
      batch.set_first_sequence(first);
      for (int i = 0; i < count; ++i) batch.add_commands()->mutable_fence();
      return stream->Write(batch);
    }
    // Commands that fail, each of which has a long result.
    bool Failures(uint64_t first, int count) {
      v1::CommandBatch batch;
      batch.set_first_sequence(first);
      for (int i = 0; i < count; ++i) {
        batch.add_commands()->mutable_write_buffer()->set_buffer(12345);
      }
      return stream->Write(batch);
    }
    // The numbers of the results until the call's end.
    std::vector<uint64_t> Rest() {
      std::vector<uint64_t> numbers;
      for (v1::ResultBatch batch; stream->Read(&batch);) {
        for (const v1::Result& result : batch.results()) {
          numbers.push_back(result.sequence());
        }
      }
      return numbers;
    }

    grpc::ClientContext context;
    std::unique_ptr<v1::CommandService::Stub> stub;
    std::unique_ptr<grpc::ClientReaderWriter<v1::CommandBatch, v1::ResultBatch>>
        stream;
  };

  static void AddSteps(const v1::StepTimes& steps,
                       std::map<std::string, uint64_t>* times) {
    for (const v1::StepTimes::Step& step : steps.steps()) {
      (*times)[step.name()] = step.nanoseconds();
    }
  }

  TestSession session_{tcp_};
};

TEST_F(ExecuteCallTest, AHalfClosedCallGetsTheResultsOfAllThatWasSent) {
  Call call(*this);
  call.Begin();
  ASSERT_TRUE(call.Fences(1, 1000));
  ASSERT_TRUE(call.Fences(1001, 1000));
  ASSERT_TRUE(call.stream->WritesDone());
  const std::vector<uint64_t> numbers = call.Rest();
  EXPECT_TRUE(call.stream->Finish().ok());
  ASSERT_EQ(numbers.size(), 2000u);
  EXPECT_EQ(numbers.front(), 1u);
  EXPECT_EQ(numbers.back(), 2000u);
}

TEST_F(ExecuteCallTest, ABatchLargerThanTheRingArrivesAsAWhole) {
  Call call(*this);
  call.Begin();
  v1::CommandBatch batch;
  batch.set_first_sequence(1);
  // There is no such buffer: each fails, after all its bytes have come.
  for (int i = 0; i < 20; ++i) {
    v1::WriteBuffer& write = *batch.add_commands()->mutable_write_buffer();
    write.set_buffer(12345);
    write.set_data(std::string(64 << 10, 'x'));
  }
  ASSERT_TRUE(call.stream->Write(batch));
  ASSERT_TRUE(call.Fences(21, 1));
  ASSERT_TRUE(call.stream->WritesDone());
  const std::vector<uint64_t> numbers = call.Rest();
  EXPECT_TRUE(call.stream->Finish().ok());
  ASSERT_EQ(numbers.size(), 21u);  // 20 errors, and the fence
  EXPECT_EQ(numbers.back(), 21u);
}

TEST_F(ExecuteCallTest, RingsThatARemoteClientOffersAreNotAskedFor) {
  Call call(*this);
  call.context.AddMetadata(kRingsKey.name, std::string(32, '0'));
  call.Begin();
  ASSERT_TRUE(call.Fences(1, 1));
  ASSERT_TRUE(call.stream->WritesDone());
  EXPECT_EQ(call.Rest(), std::vector<uint64_t>{1});
  EXPECT_TRUE(call.stream->Finish().ok());
}

TEST_F(ExecuteCallTest, AClientThatAsksIsToldWhenTheStepsWereTaken) {
  Call call(*this);
  call.context.AddMetadata(kStepTimesKey.name, "1");
  call.Begin();
  ASSERT_TRUE(call.Fences(1, 1));
  std::map<std::string, uint64_t> times;
  for (bool answered = false; !answered;) {
    v1::ResultBatch batch;
    ASSERT_TRUE(call.stream->Read(&batch));
    for (const v1::Result& result : batch.results()) {
      // Not behind the result for which a client waits.
      if (!answered) AddSteps(result.times(), &times);
      answered = answered || result.sequence() == 1;
    }
  }
  const std::vector<std::string> way = {
      "daemon: batch came", "executor: batch read", "executor: commands begun",
      "executor: result found", "daemon: result came"};
  for (size_t i = 0; i < way.size(); ++i) {
    ASSERT_EQ(times.count(way[i]), 1u) << way[i];
    if (i > 0) {
      EXPECT_GE(times[way[i]], times[way[i - 1]]) << way[i];
    }
  }
}

TEST_F(ExecuteCallTest, ASecondCallOfASessionIsRefusedByTheExecutor) {
  Call first(*this);
  first.Begin();
  ASSERT_TRUE(first.Fences(1, 1));
  v1::ResultBatch batch;
  ASSERT_TRUE(first.stream->Read(&batch));
  Call second(*this);
  second.Begin();
  const grpc::Status refused = second.stream->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION)
      << Text(refused);
  ASSERT_TRUE(first.Fences(2, 1));
  EXPECT_TRUE(first.stream->Read(&batch));
}

TEST_F(ExecuteCallTest, MoreCallsThanASessionMayHaveAreRefusedAtOnce) {
  // A stopped executor answers none of them.
  const pid_t executor = ExecutorPid(session_);
  ASSERT_GT(executor, 0);
  ASSERT_EQ(kill(executor, SIGSTOP), 0);
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 8; ++i) {
    calls.push_back(std::make_unique<Call>(*this));
    calls.back()->Begin();
  }
  // The daemon takes calls of one connection in order, though not at once.
  grpc::Status refused;
  for (int tries = 0; tries < 100; ++tries) {
    Call call(*this);
    call.context.set_deadline(
        absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
    call.Begin();
    refused = call.stream->Finish();
    if (refused.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) break;
  }
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED)
      << Text(refused);
  EXPECT_NE(refused.error_message().find("more than 8 Execute calls"),
            std::string::npos)
      << refused.error_message();
  for (const auto& call : calls) call->context.TryCancel();
  kill(executor, SIGCONT);
}

TEST_F(ExecuteCallTest, AClientThatNeverReadsAndGoesLeavesItsPlace) {
  {
    Call call(*this);
    call.Begin();
    for (uint64_t i = 0; i < 20; ++i) {
      ASSERT_TRUE(call.Fences(1 + i * 1000, 1000));
    }
    call.context.TryCancel();
    call.Rest();
    call.stream->Finish();
  }
  // The place is free when the executor has noticed.
  for (int tries = 0; tries < 200; ++tries) {
    Call call(*this);
    call.Begin();
    call.Fences(1'000'000, 1);
    call.stream->WritesDone();
    const std::vector<uint64_t> numbers = call.Rest();
    const grpc::Status status = call.stream->Finish();
    if (status.ok()) {
      ASSERT_FALSE(numbers.empty());
      EXPECT_EQ(numbers.back(), 1'000'000u);
      return;
    }
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION)
        << Text(status);
    absl::SleepFor(absl::Milliseconds(50));
  }
  FAIL() << "the place was never free";
}

// A client that never reads, and closes its session: the call must not keep its
// threads and memory until the client likes to go.
TEST_F(ExecuteCallTest, AStalledCallEndsWithItsSession) {
  Call call(*this);
  call.Begin();
  std::atomic<uint64_t> sent{0};
  // Results fill every buffer on the way, and at last the writer waits.
  std::thread writer([&] {
    while (call.Failures(1 + 1000 * sent, 1000)) ++sent;
  });
  // A writer that is slow for a while does not wait yet: the call would then
  // end in order, behind results that nobody reads.
  uint64_t before = 0;
  for (int still = 0; before == 0 || still < 6;) {
    absl::SleepFor(absl::Milliseconds(500));
    still = before == sent ? still + 1 : 0;
    before = sent;
  }
  const grpc::Status closed = session_.Close();
  EXPECT_TRUE(closed.ok()) << Text(closed);
  writer.join();  // Ends with the call, of which nothing has been read by now.
  call.Rest();    // gRPC keeps a call's status behind its messages.
  // The daemon cancels the call; or its executor has ended before.
  const grpc::Status ended = call.stream->Finish();
  EXPECT_TRUE(ended.error_code() == grpc::StatusCode::CANCELLED ||
              ended.error_code() == grpc::StatusCode::UNAVAILABLE)
      << Text(ended);
}

TEST_F(ExecuteCallTest, TheDeathOfTheExecutorIsTheCallsReason) {
  Call call(*this);
  call.Begin();
  ASSERT_TRUE(call.Fences(1, 1));
  v1::ResultBatch batch;
  ASSERT_TRUE(call.stream->Read(&batch));
  ASSERT_EQ(kill(ExecutorPid(session_), SIGKILL), 0);
  call.Rest();
  const grpc::Status status = call.stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_NE(status.error_message().find("SIGKILL"), std::string::npos)
      << status.error_message();
}

}  // namespace
}  // namespace holdfast
