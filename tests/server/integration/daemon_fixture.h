// SPDX-License-Identifier: Apache-2.0
//
// Shared by the tests of a real daemon: the daemon, channels to it, and a
// client's session.
#ifndef HOLDFAST_TESTS_SERVER_INTEGRATION_DAEMON_FIXTURE_H_
#define HOLDFAST_TESTS_SERVER_INTEGRATION_DAEMON_FIXTURE_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "holdfast/v1/compile.grpc.pb.h"
#include "holdfast/v1/sessions.grpc.pb.h"
#include "proto/metadata.h"
#include "tests/server/testing/daemon_process.h"

namespace holdfast {

using grpc::StatusCode;
using ChannelPtr = std::shared_ptr<grpc::Channel>;

inline std::string Text(const grpc::Status& status) {
  return absl::StrCat(status.error_code(), ": ", status.error_message());
}

// A client's session, with a KeepAlive stream from its beginning. By default
// the session is lost if its executor ends.
class TestSession {
 public:
  explicit TestSession(const ChannelPtr& channel, const std::string& name = "",
                       uint64_t memory_limit = 0,
                       v1::RecoveryPolicy recover = v1::RECOVERY_POLICY_NEVER)
      : control_(v1::SessionService::NewStub(channel)) {
    v1::OpenSessionRequest request;
    request.set_protocol_version(1);
    request.set_name(name);
    request.set_memory_limit(memory_limit);
    request.set_recover(recover);
    grpc::ClientContext context;
    const grpc::Status status =
        control_->OpenSession(&context, request, &opened_);
    EXPECT_TRUE(status.ok()) << Text(status);
    AddToken(&keep_alive_context_);
    keep_alive_ = control_->KeepAlive(&keep_alive_context_);
    v1::KeepAliveResponse answer;
    EXPECT_TRUE(keep_alive_->Write({}) && keep_alive_->Read(&answer));
  }
  ~TestSession() { Disconnect(); }

  void AddToken(grpc::ClientContext* context) const {
    context->AddMetadata(kSessionTokenKey.name,
                         absl::BytesToHexString(opened_.token()));
  }

  // Ends the KeepAlive stream, as the death of the client would.
  void Disconnect() { keep_alive_context_.TryCancel(); }

  // The daemon's next message.
  v1::KeepAliveResponse AwaitNews() {
    v1::KeepAliveResponse news;
    keep_alive_->Read(&news);
    return news;
  }

  // The daemon's message at the session's end.
  std::string AwaitEnd() {
    v1::KeepAliveResponse last;
    keep_alive_->Read(&last);
    return last.ended_because();
  }

  grpc::Status Acknowledge(uint64_t epoch,
                           v1::AcknowledgeFaultResponse* response) {
    grpc::ClientContext context;
    AddToken(&context);
    v1::AcknowledgeFaultRequest request;
    request.set_epoch(epoch);
    return control_->AcknowledgeFault(&context, request, response);
  }

  grpc::Status Close() {
    grpc::ClientContext context;
    AddToken(&context);
    v1::CloseSessionResponse response;
    return control_->CloseSession(&context, {}, &response);
  }

  // Carries out an empty batch, or one with a fence.
  grpc::Status Run(const ChannelPtr& channel, bool fence = true) {
    v1::CommandBatch batch;
    batch.set_first_sequence(++sequence_);
    if (fence) batch.add_commands()->mutable_fence()->set_all_streams(true);
    grpc::ClientContext context;
    AddToken(&context);
    return v1::CommandService::NewStub(channel)->Run(&context, batch,
                                                     &results_);
  }

  const v1::OpenSessionResponse& opened() const { return opened_; }
  const v1::ResultBatch& results() const { return results_; }

 private:
  std::unique_ptr<v1::SessionService::Stub> control_;
  v1::OpenSessionResponse opened_;
  grpc::ClientContext keep_alive_context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::KeepAliveRequest, v1::KeepAliveResponse>>
      keep_alive_;
  uint64_t sequence_ = 0;
  v1::ResultBatch results_;
};

class DaemonTest : public ::testing::Test {
 protected:
  v1::ListSessionsResponse Sessions() {
    grpc::ClientContext context;
    v1::ListSessionsResponse response;
    const grpc::Status status =
        v1::SessionService::NewStub(unix_)->ListSessions(&context, {},
                                                         &response);
    EXPECT_TRUE(status.ok()) << Text(status);
    return response;
  }

  pid_t ExecutorPid(const TestSession& session) {
    const v1::ListSessionsResponse list = Sessions();
    for (const v1::SessionInfo& info : list.sessions()) {
      if (info.session_id() == session.opened().session_id()) {
        return static_cast<pid_t>(info.executor_pid());
      }
    }
    return -1;
  }

  grpc::Status Compile(const v1::CompileRequest& request,
                       v1::CompileResponse* response) {
    grpc::ClientContext context;
    context.AddMetadata(kTrailerBytesKey.name, absl::StrCat(kMaxTrailerBytes));
    return v1::CompileService::NewStub(unix_)->Compile(&context, request,
                                                       response);
  }

  DaemonProcess daemon_;
  ChannelPtr unix_ = daemon_.Unix();
  ChannelPtr tcp_ = daemon_.Tcp();
};

// Makes a unary call with encoded messages, for services without generated
// stubs. Returns the response.
inline std::string Call(const ChannelPtr& channel, const std::string& method,
                        const std::string& request) {
  const grpc::Slice slice(request);
  grpc::ByteBuffer in(&slice, 1), out;
  grpc::ClientContext context;
  std::promise<grpc::Status> done;
  grpc::GenericStub(channel).UnaryCall(
      &context, method, {}, &in, &out,
      [&](grpc::Status status) { done.set_value(status); });
  const grpc::Status status = done.get_future().get();
  EXPECT_TRUE(status.ok()) << Text(status);
  std::vector<grpc::Slice> slices;
  if (!out.Dump(&slices).ok()) return "";
  std::string bytes;
  for (const grpc::Slice& part : slices) {
    bytes.append(reinterpret_cast<const char*>(part.begin()), part.size());
  }
  return bytes;
}

// HealthCheckRequest.service is field 1; so is HealthCheckResponse.status.
inline std::string HealthOf(const ChannelPtr& channel,
                            const std::string& service) {
  std::string request;
  if (!service.empty()) {
    request =
        absl::StrCat("\x0a", std::string(1, char(service.size())), service);
  }
  return Call(channel, "/grpc.health.v1.Health/Check", request);
}

inline constexpr char kServing[] = "\x08\x01";
inline constexpr char kNotServing[] = "\x08\x02";

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_SERVER_INTEGRATION_DAEMON_FIXTURE_H_
