// SPDX-License-Identifier: Apache-2.0
#include "server/executor/attach/upload_tries.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "holdfast/v1/transfers.grpc.pb.h"
#include "proto/metadata.h"
#include "server/rpc/metadata.h"

namespace holdfast::executor {
namespace {

using grpc::StatusCode;

// Uploads that take no bytes: a call is within its upload's tries from the
// moment that it is let in until its client sends no more.
class Uploads final : public v1::TransferService::Service {
 public:
  grpc::Status Upload(grpc::ServerContext* context,
                      grpc::ServerReader<v1::UploadRequest>* reader,
                      v1::UploadResponse*) override {
    const auto& metadata = context->client_metadata();
    const auto header = metadata.find("name");
    const std::string name(header->second.data(), header->second.size());
    const auto entered = tries_.Enter(
        *context, FindMetadata(*context, kTransferKey).value_or(""),
        name == "waiting" ? cancel_.get_token() : std::stop_token());
    if (!entered.ok()) {
      return {static_cast<StatusCode>(entered.status().code()),
              std::string(entered.status().message())};
    }
    Log(absl::StrCat(name, " in"));
    for (v1::UploadRequest request; reader->Read(&request);) {
    }
    if (name == "stubborn") leave_.WaitForNotification();
    Log(absl::StrCat(name, " out"));
    return grpc::Status::OK;
  }

  // Cancels the call with the name "waiting".
  void Cancel() { cancel_.request_stop(); }
  // Lets the call with the name "stubborn" return.
  void Release() { leave_.Notify(); }

  void Await(const std::string& line) {
    absl::MutexLock lock(&mutex_);
    const auto logged = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return absl::c_linear_search(log_, line);
    };
    mutex_.Await(absl::Condition(&logged));
  }
  std::vector<std::string> log() {
    absl::MutexLock lock(&mutex_);
    return log_;
  }

 private:
  void Log(const std::string& line) {
    absl::MutexLock lock(&mutex_);
    log_.push_back(line);
  }

  UploadTries tries_;
  std::stop_source cancel_;
  absl::Notification leave_;
  absl::Mutex mutex_;
  std::vector<std::string> log_ ABSL_GUARDED_BY(mutex_);
};

class UploadTriesTest : public ::testing::Test {
 protected:
  UploadTriesTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&uploads_);
    server_ = builder.BuildAndStart();
    stub_ = v1::TransferService::NewStub(
        server_->InProcessChannel(grpc::ChannelArguments()));
  }
  ~UploadTriesTest() override { server_->Shutdown(); }

  struct Call {
    grpc::Status End() {
      writer->WritesDone();
      return writer->Finish();
    }

    grpc::ClientContext context;
    v1::UploadResponse response;
    std::unique_ptr<grpc::ClientWriter<v1::UploadRequest>> writer;
  };
  // `which`: "ID/NUMBER", or "" for a call that says nothing of tries.
  std::unique_ptr<Call> Begin(const std::string& name,
                              const std::string& which) {
    auto call = std::make_unique<Call>();
    call->context.AddMetadata("name", name);
    if (!which.empty()) call->context.AddMetadata(kTransferKey.name, which);
    call->writer = stub_->Upload(&call->context, &call->response);
    return call;
  }
  StatusCode CodeOf(const std::string& which) {
    return Begin("call", which)->End().error_code();
  }

  Uploads uploads_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::TransferService::Stub> stub_;
};

// Bytes of an earlier try behind those of a later one would undo what commands
// after the upload have done.
TEST_F(UploadTriesTest, LaterTryBeginsWhenTheCallsOfEarlierOnesHaveEnded) {
  const auto first = Begin("first", "a/1");
  const auto beside = Begin("beside", "a/1");
  uploads_.Await("first in");
  uploads_.Await("beside in");
  const auto second = Begin("second", "a/2");
  uploads_.Await("second in");
  const std::vector<std::string> log = uploads_.log();
  ASSERT_EQ(log.size(), 5u);
  EXPECT_EQ(log.back(), "second in");
  EXPECT_EQ(first->End().error_code(), StatusCode::CANCELLED);
  EXPECT_EQ(beside->End().error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(second->End().ok());
}

TEST_F(UploadTriesTest, CancelledTryWaitsForNoEarlierOne) {
  const auto first = Begin("stubborn", "a/1");
  uploads_.Await("stubborn in");
  const auto second = Begin("waiting", "a/2");
  uploads_.Cancel();
  EXPECT_EQ(second->End().error_code(), StatusCode::CANCELLED);
  uploads_.Release();
  first->End();
  EXPECT_EQ(CodeOf("a/3"), StatusCode::OK);
}

TEST_F(UploadTriesTest, CallOfAnEarlierTryThatComesLateIsRefused) {
  EXPECT_EQ(CodeOf("a/2"), StatusCode::OK);
  EXPECT_EQ(CodeOf("a/1"), StatusCode::CANCELLED);
  EXPECT_EQ(CodeOf("a/2"), StatusCode::OK);
}

TEST_F(UploadTriesTest, UploadsDoNotHinderEachOther) {
  const auto other = Begin("other", "b/1");
  uploads_.Await("other in");
  EXPECT_EQ(CodeOf("a/2"), StatusCode::OK);
  EXPECT_EQ(CodeOf(""), StatusCode::OK);
  EXPECT_TRUE(other->End().ok());
}

TEST_F(UploadTriesTest, MalformedNamesAreRefused) {
  const std::string longest(UploadTries::kMaxIdBytes, 'x');
  EXPECT_EQ(CodeOf(longest + "/1"), StatusCode::OK);
  for (const std::string& which :
       {longest + "x/1", std::string("a"), std::string("a/"),
        std::string("a/-1"), std::string("a/1/1"), std::string("a/one"),
        std::string("a/4294967296"), "a/" + std::string(80, '0') + "1"}) {
    EXPECT_EQ(CodeOf(which), StatusCode::INVALID_ARGUMENT) << which;
  }
}

TEST_F(UploadTriesTest, OnlyUploadsWithoutCallsAreForgotten) {
  const auto open = Begin("open", "open/2");
  uploads_.Await("open in");
  EXPECT_EQ(CodeOf("ended/2"), StatusCode::OK);
  for (size_t i = 0; i < UploadTries::kMaxRemembered; ++i) {
    ASSERT_EQ(CodeOf(absl::StrCat(i, "/1")), StatusCode::OK);
  }
  EXPECT_EQ(CodeOf("open/1"), StatusCode::CANCELLED);
  EXPECT_EQ(CodeOf("ended/1"), StatusCode::OK);
  EXPECT_TRUE(open->End().ok());
}

}  // namespace
}  // namespace holdfast::executor
