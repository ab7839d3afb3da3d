// SPDX-License-Identifier: Apache-2.0
//
// An Execute call whose messages take the rings that the client has handed
// over, and what hostile clients put into these.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/descriptor_socket.h"
#include "core/base/memfd.h"
#include "core/base/ring_pair.h"
#include "proto/metadata.h"
#include "tests/server/executor/executor_fixture.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

constexpr size_t kMaxMessage = size_t{4} << 20;

class RingTest : public ExecutorTest {
 protected:
  using Stream = grpc::ClientReaderWriter<v1::CommandBatch, v1::ResultBatch>;

  // Opens the call and offers the memory.
  void Open(int memfd) {
    const auto sent = SendFd(descriptor_path(), token(), memfd);
    ASSERT_OK(sent.status());
    Call(*sent);
  }

  void Call(const std::string& ring_token) {
    context_ = Context();
    context_->AddMetadata(kRingsKey.name, absl::BytesToHexString(ring_token));
    stream_ = commands().Execute(context_.get());
    stream_->WaitForInitialMetadata();
  }

  void OpenWithRings() {
    const auto memory = RingPair::CreateMemory();
    ASSERT_OK(memory.status());
    auto rings =
        RingPair::Map(memory->get(), RingPair::End::kClient, kMaxMessage);
    ASSERT_OK(rings.status());
    rings_ = *std::move(rings);
    ASSERT_NO_FATAL_FAILURE(Open(memory->get()));
    ASSERT_TRUE(Taken());
  }

  bool Taken() const {
    return context_->GetServerInitialMetadata().count(kRingsKey.name) == 1;
  }

  absl::Status Send(const Batch& batch) {
    return rings_->writer().Write(batch.proto().SerializeAsString());
  }

  // Until one with this number has come, within the call's deadline.
  std::map<uint64_t, v1::Result> ResultsUntil(uint64_t sequence) {
    std::map<uint64_t, v1::Result> results;
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    while (results.count(sequence) == 0 && absl::Now() < deadline) {
      rings_->reader().Await(absl::Seconds(1));
      const auto message = rings_->reader().Read();
      if (!message.ok() || !message->has_value()) continue;
      v1::ResultBatch batch;
      EXPECT_TRUE(batch.ParseFromString(std::string(**message)));
      for (const auto& [number, result] : BySequence(batch)) {
        results[number] = result;
      }
    }
    EXPECT_EQ(results.count(sequence), 1) << "number " << sequence;
    return results;
  }

  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<RingPair> rings_;
};

TEST_F(RingTest, CommandsAndResultsTakeTheRings) {
  ASSERT_NO_FATAL_FAILURE(OpenWithRings());
  Batch batch;
  batch.CreateStream(StreamName(0));
  batch.Allocate(BufferName(0), 4096);
  batch.Write(StreamName(0), BufferName(0), 0, "through the ring");
  const uint64_t read = batch.Read(StreamName(0), BufferName(0), 0, 16);
  const uint64_t fence = batch.Fence();
  ASSERT_OK(Send(batch));
  const auto results = ResultsUntil(fence);
  EXPECT_EQ(results.at(read).data(), "through the ring");
}

TEST_F(RingTest, AHalfClosedCallEndsWhenAllResultsHaveBeenSent) {
  ASSERT_NO_FATAL_FAILURE(OpenWithRings());
  Batch batch;
  batch.CreateStream(StreamName(0));
  const uint64_t fence = batch.Fence();
  ASSERT_OK(Send(batch));
  EXPECT_TRUE(stream_->WritesDone());
  EXPECT_TRUE(stream_->Finish().ok());
  EXPECT_FALSE(ResultsUntil(fence).at(fence).has_error());
}

TEST_F(RingTest, MemoryThatCouldBeTakenAwayIsNotMapped) {
  const auto memory = CreateMemfd("test", 4096 + 2 * (256 << 10));
  ASSERT_OK(memory.status());
  ASSERT_NO_FATAL_FAILURE(Open(memory->get()));
  EXPECT_FALSE(Taken());
}

TEST_F(RingTest, WithoutADescriptorTheCallGoesThroughGrpc) {
  Call(std::string(16, 'x'));
  EXPECT_FALSE(Taken());
  Batch batch;
  batch.Fence();
  ASSERT_TRUE(stream_->Write(batch.proto()));
  v1::ResultBatch results;
  EXPECT_TRUE(stream_->Read(&results));
}

TEST_F(RingTest, WhatIsNoBatchEndsTheCallWithItsReason) {
  ASSERT_NO_FATAL_FAILURE(OpenWithRings());
  ASSERT_OK(rings_->writer().Write("\xff\xff\xff"));
  EXPECT_EQ(ResultsUntil(0).at(0).error().message(),
            "a message of 3 bytes is no CommandBatch");
  EXPECT_EQ(stream_->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(RingTest, AClientThatHalfClosesWhenItIsAskedToHasTheCallsStatus) {
  ASSERT_NO_FATAL_FAILURE(OpenWithRings());
  ASSERT_OK(rings_->writer().Write("\xff\xff\xff"));
  ResultsUntil(0);
  absl::StatusOr<std::optional<absl::string_view>> asked{
      std::optional<absl::string_view>{}};
  while (asked.ok() && !asked->has_value()) {
    rings_->reader().Await(absl::Seconds(1));
    asked = rings_->reader().Read();
  }
  ASSERT_OK(asked.status());
  EXPECT_EQ(**asked, "");
  stream_->WritesDone();
  EXPECT_EQ(stream_->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(RingTest, NumbersThatDoNotIncreaseEndTheCallWithItsReason) {
  ASSERT_NO_FATAL_FAILURE(OpenWithRings());
  Batch batch(7);
  batch.Fence();
  ASSERT_OK(Send(batch));
  ResultsUntil(7);
  ASSERT_OK(Send(batch));
  EXPECT_EQ(ResultsUntil(0).at(0).error().message(),
            "sequence number 7 after 7: numbers must increase");
}

TEST_F(RingTest, AMessageThatIsTooLongIsNotWaitedFor) {
  ASSERT_NO_FATAL_FAILURE(OpenWithRings());
  std::thread writer([this] {
    rings_->writer().Write(std::string(kMaxMessage + 1, 'x')).IgnoreError();
  });
  EXPECT_EQ(ResultsUntil(0).at(0).error().message(),
            "a message of 4194305 bytes, the limit is 4194304");
  rings_->Close();
  writer.join();
}

// The next call is served: nobody is left who waits for the client.
TEST_F(RingTest, AClientThatNeverReadsAndThenGoesIsNotWaitedFor) {
  ASSERT_NO_FATAL_FAILURE(OpenWithRings());
  constexpr uint64_t kReads = 64;
  Batch first;
  first.CreateStream(StreamName(0));
  first.Allocate(BufferName(0), 64 << 10);
  ASSERT_OK(Send(first));
  std::thread writer([this] {
    for (uint64_t next = 3;; next += kReads) {
      Batch batch(next);
      for (uint64_t i = 0; i < kReads; ++i) {
        batch.Read(StreamName(0), BufferName(0), 0, 64 << 10);
      }
      if (!Send(batch).ok()) return;
    }
  });
  absl::SleepFor(absl::Milliseconds(200));  // Until both rings are full.
  context_->TryCancel();
  stream_->Finish();
  rings_->Close();
  writer.join();
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  do {
    ASSERT_LT(absl::Now(), deadline) << "the session's call is still taken";
    ASSERT_NO_FATAL_FAILURE(Call(std::string(16, 'x')));
    Batch batch(uint64_t{1} << 40);
    batch.Fence();
    v1::ResultBatch results;
    if (stream_->Write(batch.proto()) && stream_->Read(&results)) break;
  } while (true);
}

}  // namespace
}  // namespace holdfast::testing
