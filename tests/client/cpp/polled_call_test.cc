// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/polled_call.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "holdfast/v1/commands.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/client/cpp/fake_daemon.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/thread_refusal.h"

namespace holdfast {
namespace {

using Call = PolledCall<v1::CommandBatch, v1::ResultBatch>;

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) {
  return grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
}

class PolledCallTest : public ::testing::Test {
 protected:
  void Begin(const std::string& address) {
    ASSERT_OK_AND_ASSIGN(auto poller, MessagePoller::Get());
    call_.emplace(std::move(poller), ChannelTo(address),
                  "/holdfast.v1.CommandService/Execute", context_);
  }

  bool WriteFence(uint64_t sequence) {
    v1::CommandBatch batch;
    batch.set_first_sequence(sequence);
    batch.add_commands()->mutable_fence();
    return call_->Write(batch);
  }

  FakeDaemon daemon_;
  grpc::ClientContext context_;
  std::optional<Call> call_;
};

TEST_F(PolledCallTest, MessagesComeInOrderAndTheStatusBehindThem) {
  Begin(daemon_.address());
  for (uint64_t i = 1; i <= 100; ++i) ASSERT_TRUE(WriteFence(i));
  call_->WritesDone();
  v1::ResultBatch results;
  for (uint64_t i = 1; i <= 100; ++i) {
    ASSERT_TRUE(call_->Read(&results));
    EXPECT_EQ(results.results(0).sequence(), i);
  }
  EXPECT_FALSE(call_->Read(&results));
  EXPECT_TRUE(call_->Finish().ok());
}

TEST_F(PolledCallTest, TakeDoesNotWait) {
  daemon_.Hold();
  Begin(daemon_.address());
  ASSERT_TRUE(WriteFence(1));
  v1::ResultBatch results;
  EXPECT_FALSE(call_->HasMessage());
  EXPECT_EQ(call_->Take(&results), Call::Taken::kNothing);
  call_->Await(absl::Milliseconds(1));
  EXPECT_EQ(call_->Take(&results), Call::Taken::kNothing);
  daemon_.Release();
  call_->Await();
  EXPECT_TRUE(call_->HasMessage());
  EXPECT_EQ(call_->Take(&results), Call::Taken::kMessage);
  context_.TryCancel();
  call_->Await();
  EXPECT_EQ(call_->Take(&results), Call::Taken::kEnd);
  EXPECT_EQ(call_->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(PolledCallTest, ACallToNobodyEnds) {
  Begin("unix:/nonexistent/holdfast.sock");
  call_->AwaitInitialMetadata();
  v1::ResultBatch results;
  EXPECT_FALSE(call_->Read(&results));
  EXPECT_FALSE(WriteFence(1));
  EXPECT_EQ(call_->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(PolledCallTest, ACallThatNobodyEndsIsCancelledWithItsMessages) {
  Begin(daemon_.address());
  for (uint64_t i = 1; i <= 10; ++i) ASSERT_TRUE(WriteFence(i));
  call_.reset();
}

TEST(MessagePollerTest, AThreadThatTheSystemRefusesIsAnErrorAndTriedAgain) {
  if (!testing::ThreadRefusal::kWorks) GTEST_SKIP();
  {
    const testing::ThreadRefusal refusal;
    EXPECT_THAT(MessagePoller::Get(),
                testing::StatusIs(absl::StatusCode::kResourceExhausted, ""));
  }
  EXPECT_OK(MessagePoller::Get().status());
}

TEST_F(PolledCallTest, CallsOfOneProcessHaveOnePoller) {
  ASSERT_OK_AND_ASSIGN(const auto poller, MessagePoller::Get());
  Begin(daemon_.address());
  EXPECT_EQ(*MessagePoller::Get(), poller);
  std::vector<std::thread> others;
  for (int i = 0; i < 4; ++i) {
    others.emplace_back([this, &poller] {
      grpc::ClientContext context;
      PolledCall<v1::KeepAliveRequest, v1::KeepAliveResponse> call(
          poller, ChannelTo(daemon_.address()),
          "/holdfast.v1.SessionService/KeepAlive", context);
      v1::KeepAliveResponse response;
      EXPECT_TRUE(call.Write({}));
      EXPECT_TRUE(call.Read(&response));
    });
  }
  for (uint64_t i = 1; i <= 100; ++i) {
    ASSERT_TRUE(WriteFence(i));
    v1::ResultBatch results;
    ASSERT_TRUE(call_->Read(&results));
  }
  for (std::thread& thread : others) thread.join();
}

}  // namespace
}  // namespace holdfast
