// SPDX-License-Identifier: Apache-2.0
//
// Requests that wait for the real daemon's only compiler, and clients that do
// not wait for them.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "holdfast/v1/admin.grpc.pb.h"
#include "holdfast/v1/compile.grpc.pb.h"
#include "tests/server/testing/daemon_process.h"
#include "tests/server/testing/endless_source.h"

namespace holdfast {
namespace {

using Stage = v1::CompileProgress;

constexpr char kQuickPtx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry f() { ret; }\n";
constexpr char kQuick[] = "__global__ void f(int* x) { *x = 1; }";

v1::CompileRequest Request(const std::string& source) {
  v1::CompileRequest request;
  request.set_source(source);
  request.set_target(v1::OBJECT_FORMAT_PTX);
  request.set_arch("compute_90");
  return request;
}

v1::LinkRequest Linking(const std::string& ptx) {
  v1::LinkRequest request;
  request.set_target(v1::OBJECT_FORMAT_CUBIN);
  request.set_arch("sm_90");
  v1::LinkInput& input = *request.add_inputs();
  input.set_format(v1::OBJECT_FORMAT_PTX);
  input.set_data(ptx);
  return request;
}

// A call that is under way.
class Call {
 public:
  Call(const DaemonProcess& daemon, const std::string& source)
      : stub_(v1::CompileService::NewStub(daemon.Unix())),
        reader_(stub_->CompileWithProgress(&context_, Request(source))) {}
  Call(const DaemonProcess& daemon, const v1::LinkRequest& request)
      : stub_(v1::CompileService::NewStub(daemon.Unix())),
        reader_(stub_->LinkWithProgress(&context_, request)) {}
  ~Call() { Cancel(); }

  // Reads until it is at this stage; false if the call ends before.
  bool Reaches(Stage::Stage stage) {
    while (reader_->Read(&progress_)) {
      if (progress_.stage() == stage) return true;
    }
    return false;
  }
  const v1::CompileProgress& progress() const { return progress_; }

  void Cancel() {
    if (reader_ == nullptr) return;
    context_.TryCancel();
    Finish();
  }
  grpc::Status Finish() {
    v1::CompileProgress rest;
    while (reader_->Read(&rest)) {
    }
    const grpc::Status status = reader_->Finish();
    reader_.reset();
    return status;
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<v1::CompileService::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<v1::CompileProgress>> reader_;
  v1::CompileProgress progress_;
};

class CompileQueueDaemonTest : public testing::Test {
 protected:
  // The one compiler would be busy for an hour.
  DaemonProcess daemon_{
      {"--compiler-workers=1", "--compile-timeout=1h", "--warm-executors=0"}};
};

TEST_F(CompileQueueDaemonTest, AClientThatGoesFreesTheCompiler) {
  Call endless(daemon_, kEndlessSource);
  ASSERT_TRUE(endless.Reaches(Stage::STAGE_RUNNING));
  endless.Cancel();
  Call quick(daemon_, kQuick);
  EXPECT_TRUE(quick.Reaches(Stage::STAGE_DONE));
  EXPECT_FALSE(quick.progress().response().cache_hit());
  EXPECT_TRUE(quick.Finish().ok());
}

TEST_F(CompileQueueDaemonTest, SoDoesOneThatAskedForNoProgress) {
  const auto stub = v1::CompileService::NewStub(daemon_.Unix());
  grpc::ClientContext context;
  std::thread client([&] {
    v1::CompileResponse response;
    EXPECT_EQ(stub->Compile(&context, Request(kEndlessSource), &response)
                  .error_code(),
              grpc::StatusCode::CANCELLED);
  });
  // Once others wait, it is being compiled.
  std::string other = kQuick;
  bool waits = false;
  while (!waits) {
    other += " ";
    waits = Call(daemon_, other).Reaches(Stage::STAGE_QUEUED);
  }
  context.TryCancel();
  client.join();
  Call quick(daemon_, kQuick);
  EXPECT_TRUE(quick.Reaches(Stage::STAGE_DONE));
}

TEST_F(CompileQueueDaemonTest, WhoWaitsIsToldWhereInTheQueue) {
  Call endless(daemon_, kEndlessSource);
  ASSERT_TRUE(endless.Reaches(Stage::STAGE_RUNNING));
  Call waiting(daemon_, kQuick);
  ASSERT_TRUE(waiting.Reaches(Stage::STAGE_QUEUED));
  EXPECT_EQ(waiting.progress().queue_position(), 1u);
  EXPECT_EQ(waiting.progress().queue_length(), 1u);
  {
    Call second(daemon_, std::string(kQuick) + " ");
    ASSERT_TRUE(second.Reaches(Stage::STAGE_QUEUED));
    EXPECT_EQ(second.progress().queue_position(), 2u);
    EXPECT_EQ(second.progress().queue_length(), 2u);
  }
  endless.Cancel();
  // That it runs may go unsaid: clients hear of the newest stage.
  EXPECT_TRUE(waiting.Reaches(Stage::STAGE_DONE));
}

TEST_F(CompileQueueDaemonTest, ACompilationGoesOnWhileSomebodyWaitsForIt) {
  auto first = std::make_unique<Call>(daemon_, kEndlessSource);
  ASSERT_TRUE(first->Reaches(Stage::STAGE_RUNNING));
  Call second(daemon_, kEndlessSource);
  // Not queued: it is the same.
  ASSERT_TRUE(second.Reaches(Stage::STAGE_RUNNING));
  first.reset();
  ASSERT_TRUE(second.Reaches(Stage::STAGE_RUNNING));
  Call waiting(daemon_, kQuick);
  EXPECT_TRUE(waiting.Reaches(Stage::STAGE_QUEUED));
  second.Cancel();
  EXPECT_TRUE(waiting.Reaches(Stage::STAGE_DONE));
}

TEST_F(CompileQueueDaemonTest, ALinkThatWaitsIsToldWhereInTheQueue) {
  Call endless(daemon_, kEndlessSource);
  ASSERT_TRUE(endless.Reaches(Stage::STAGE_RUNNING));
  Call waiting(daemon_, kQuick);
  ASSERT_TRUE(waiting.Reaches(Stage::STAGE_QUEUED));
  Call link(daemon_, Linking(kQuickPtx));
  ASSERT_TRUE(link.Reaches(Stage::STAGE_QUEUED));
  EXPECT_EQ(link.progress().queue_position(), 2u);
  EXPECT_EQ(link.progress().queue_length(), 2u);
  waiting.Cancel();
  endless.Cancel();
  ASSERT_TRUE(link.Reaches(Stage::STAGE_DONE));
  EXPECT_EQ(link.progress().link_response().object().format(),
            v1::OBJECT_FORMAT_CUBIN);
  EXPECT_TRUE(link.Finish().ok());
}

TEST_F(CompileQueueDaemonTest, IdenticalLinksShareOne) {
  Call endless(daemon_, kEndlessSource);
  ASSERT_TRUE(endless.Reaches(Stage::STAGE_RUNNING));
  Call first(daemon_, Linking(kQuickPtx));
  ASSERT_TRUE(first.Reaches(Stage::STAGE_QUEUED));
  Call second(daemon_, Linking(kQuickPtx));
  ASSERT_TRUE(second.Reaches(Stage::STAGE_QUEUED));
  EXPECT_EQ(second.progress().queue_length(), 1u);
  endless.Cancel();
  ASSERT_TRUE(first.Reaches(Stage::STAGE_DONE));
  ASSERT_TRUE(second.Reaches(Stage::STAGE_DONE));
  EXPECT_FALSE(first.progress().link_response().cache_hit());
  EXPECT_TRUE(second.progress().link_response().cache_hit());
  EXPECT_EQ(first.progress().link_response().object().sha256(),
            second.progress().link_response().object().sha256());
}

TEST_F(CompileQueueDaemonTest, AClientThatGoesLeavesTheQueueWithItsLink) {
  Call endless(daemon_, kEndlessSource);
  ASSERT_TRUE(endless.Reaches(Stage::STAGE_RUNNING));
  Call link(daemon_, Linking(kQuickPtx));
  ASSERT_TRUE(link.Reaches(Stage::STAGE_QUEUED));
  Call behind(daemon_, kQuick);
  ASSERT_TRUE(behind.Reaches(Stage::STAGE_QUEUED));
  EXPECT_EQ(behind.progress().queue_position(), 2u);
  link.Cancel();
  while (behind.progress().queue_length() > 1) {
    ASSERT_TRUE(behind.Reaches(Stage::STAGE_QUEUED));
  }
  EXPECT_EQ(behind.progress().queue_position(), 1u);
}

TEST_F(CompileQueueDaemonTest, ErrorsEndTheStreamAsTheyEndACall) {
  Call broken(daemon_, "not a program");
  EXPECT_FALSE(broken.Reaches(Stage::STAGE_DONE));
  EXPECT_EQ(broken.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  Call link(daemon_, Linking("not PTX"));
  EXPECT_FALSE(link.Reaches(Stage::STAGE_DONE));
  EXPECT_EQ(link.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(CompileQueueDaemonTest, SaysWhatConfinesTheCompilers) {
  Call quick(daemon_, kQuick);
  ASSERT_TRUE(quick.Reaches(Stage::STAGE_DONE));
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(v1::AdminService::NewStub(daemon_.Unix())
                  ->GetServerInfo(&context, {}, &info)
                  .ok());
  EXPECT_NE(info.compiler_confinement().find("limits of memory"),
            std::string::npos)
      << info.compiler_confinement();
}

}  // namespace
}  // namespace holdfast
