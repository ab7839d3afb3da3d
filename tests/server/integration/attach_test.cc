// SPDX-License-Identifier: Apache-2.0
//
// Sessions that outlive their client's connections, at the protocol.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "holdfast/v1/sessions.grpc.pb.h"
#include "proto/metadata.h"
#include "tests/server/integration/daemon_fixture.h"

namespace holdfast {
namespace {

// An Execute call of a client that has read so many results.
class AttachedCall {
 public:
  AttachedCall(const ChannelPtr& channel, const std::string& token,
               const std::string& results_read) {
    context_.AddMetadata(kSessionTokenKey.name, absl::BytesToHexString(token));
    context_.AddMetadata(kResultsReadKey.name, results_read);
    stream_ = v1::CommandService::NewStub(channel)->Execute(&context_);
  }
  ~AttachedCall() { Cut(); }

  // As a connection that breaks.
  void Cut() {
    if (cut_) return;
    cut_ = true;
    context_.TryCancel();
    for (v1::ResultBatch batch; stream_->Read(&batch);) {
    }
    stream_->Finish();
  }

  bool Fence(uint64_t sequence) {
    v1::CommandBatch batch;
    batch.set_first_sequence(sequence);
    batch.add_commands()->mutable_fence();
    return stream_->Write(batch);
  }

  // The sequence numbers of the next `count` results; acknowledgements that
  // come meanwhile raise arrived().
  std::vector<uint64_t> Results(size_t count) {
    std::vector<uint64_t> sequences;
    for (v1::ResultBatch batch;
         sequences.size() < count && stream_->Read(&batch);) {
      for (const v1::Result& result : batch.results()) {
        if (result.outcome_case() == v1::Result::OUTCOME_NOT_SET) {
          arrived_ = result.sequence();
          told_ = true;
        } else {
          sequences.push_back(result.sequence());
        }
      }
    }
    return sequences;
  }

  // How far commands had come when the call began.
  uint64_t AwaitArrived() {
    for (v1::ResultBatch batch; !told_ && stream_->Read(&batch);) {
      for (const v1::Result& result : batch.results()) {
        if (result.outcome_case() != v1::Result::OUTCOME_NOT_SET) continue;
        arrived_ = result.sequence();
        told_ = true;
      }
    }
    return arrived_;
  }

  grpc::Status End() {
    for (v1::ResultBatch batch; stream_->Read(&batch);) {
    }
    cut_ = true;
    return stream_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::CommandBatch, v1::ResultBatch>>
      stream_;
  uint64_t arrived_ = 0;
  bool told_ = false;
  bool cut_ = false;
};

std::vector<uint64_t> Range(uint64_t first, uint64_t last) {
  std::vector<uint64_t> numbers;
  for (uint64_t i = first; i <= last; ++i) numbers.push_back(i);
  return numbers;
}

class AttachTest : public DaemonTest {
 protected:
  std::string Token() const { return session_.opened().token(); }
  AttachedCall Call(const std::string& results_read) {
    return AttachedCall(tcp_, Token(), results_read);
  }

  TestSession session_{tcp_};
};

TEST_F(AttachTest, ResultsThatWereLostOnTheWayComeAgainAndOnlyThose) {
  {
    auto call = Call("0");
    EXPECT_EQ(call.AwaitArrived(), 0u);
    for (uint64_t i = 1; i <= 100; ++i) ASSERT_TRUE(call.Fence(i));
    // All have arrived, and all results were sent.
    EXPECT_EQ(call.Results(100), Range(1, 100));
  }
  auto call = Call("40");
  EXPECT_EQ(call.Results(60), Range(41, 100));
  ASSERT_TRUE(call.Fence(101));
  EXPECT_EQ(call.Results(1), Range(101, 101));
}

TEST_F(AttachTest, ClientIsToldHowFarItsCommandsHadCome) {
  {
    auto call = Call("0");
    for (uint64_t i = 1; i <= 7; ++i) ASSERT_TRUE(call.Fence(i));
    EXPECT_EQ(call.Results(7), Range(1, 7));
  }
  EXPECT_EQ(Call("7").AwaitArrived(), 7u);
}

TEST_F(AttachTest, NewCallTakesThePlaceOfOneWhoseEndNobodyHasNoticed) {
  auto first = Call("0");
  ASSERT_TRUE(first.Fence(1));
  EXPECT_EQ(first.Results(1), Range(1, 1));
  auto second = Call("1");
  EXPECT_EQ(second.AwaitArrived(), 1u);
  ASSERT_TRUE(second.Fence(2));
  EXPECT_EQ(second.Results(1), Range(2, 2));
  EXPECT_FALSE(first.End().ok());
}

TEST_F(AttachTest, NonsenseAboutResultsIsRefused) {
  EXPECT_EQ(Call("1").End().error_code(), StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Call("-1").End().error_code(), StatusCode::INVALID_ARGUMENT);
  auto call = Call("0");
  ASSERT_TRUE(call.Fence(1));
  EXPECT_EQ(call.Results(1), Range(1, 1));
}

TEST_F(AttachTest, AttachTellsWhatTheSessionIs) {
  ASSERT_TRUE(session_.Run(tcp_).ok());
  const auto attach = [&](const std::string& token,
                          v1::AttachSessionResponse* response) {
    grpc::ClientContext context;
    context.AddMetadata(kSessionTokenKey.name, absl::BytesToHexString(token));
    return v1::SessionService::NewStub(tcp_)->AttachSession(&context, {},
                                                            response);
  };
  v1::AttachSessionResponse response;
  const grpc::Status status = attach(Token(), &response);
  ASSERT_TRUE(status.ok()) << Text(status);
  EXPECT_EQ(response.session().session_id(), session_.opened().session_id());
  EXPECT_EQ(response.session().token(), "");
  EXPECT_EQ(response.session().devices_size(),
            session_.opened().devices_size());
  EXPECT_EQ(attach(std::string(16, 'x'), &response).error_code(),
            StatusCode::NOT_FOUND);
}

TEST_F(AttachTest, SessionLivesWithoutAClientOnlyAsLongAsTheDaemonAllows) {
  v1::OpenSessionRequest request;
  request.set_protocol_version(1);
  request.mutable_detached_lifetime()->set_seconds(600);
  const auto open = [&](const ChannelPtr& channel) {
    grpc::ClientContext context;
    v1::OpenSessionResponse response;
    return v1::SessionService::NewStub(channel)->OpenSession(&context, request,
                                                             &response);
  };
  EXPECT_EQ(open(unix_).error_code(), StatusCode::INVALID_ARGUMENT);
  const DaemonProcess other({"--detached-session-limit=10m"});
  EXPECT_TRUE(open(other.Unix()).ok());
  request.mutable_detached_lifetime()->set_seconds(601);
  EXPECT_EQ(open(other.Unix()).error_code(), StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace holdfast
