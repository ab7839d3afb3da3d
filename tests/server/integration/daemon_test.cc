// SPDX-License-Identifier: Apache-2.0
//
// The real daemon, its real executors and compiler workers, over real sockets.
#include <fcntl.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/sha256.h"
#include "holdfast/v1/admin.grpc.pb.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "holdfast/v1/compile.grpc.pb.h"
#include "holdfast/v1/devices.grpc.pb.h"
#include "holdfast/v1/objects.grpc.pb.h"
#include "holdfast/v1/sessions.grpc.pb.h"
#include "holdfast/v1/sharing.grpc.pb.h"
#include "holdfast/v1/transfers.grpc.pb.h"
#include "server/rpc/status_conversion.h"
#include "tests/server/testing/daemon_process.h"

namespace holdfast {
namespace {

using grpc::StatusCode;
using Channel = std::shared_ptr<grpc::Channel>;

std::string Text(const grpc::Status& status) {
  return absl::StrCat(status.error_code(), ": ", status.error_message());
}

// A client's session, with a KeepAlive stream from its beginning.
class TestSession {
 public:
  explicit TestSession(const Channel& channel, const std::string& name = "")
      : control_(v1::SessionService::NewStub(channel)) {
    v1::OpenSessionRequest request;
    request.set_protocol_version(1);
    request.set_name(name);
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
    context->AddMetadata("holdfast-session-token",
                         absl::BytesToHexString(opened_.token()));
  }

  // As a client that dies.
  void Disconnect() { keep_alive_context_.TryCancel(); }

  // What the daemon says unasked at the session's end.
  std::string AwaitEnd() {
    v1::KeepAliveResponse last;
    keep_alive_->Read(&last);
    return last.ended_because();
  }

  grpc::Status Close() {
    grpc::ClientContext context;
    AddToken(&context);
    v1::CloseSessionResponse response;
    return control_->CloseSession(&context, {}, &response);
  }

  // Carries out an empty batch, or one with a fence.
  grpc::Status Run(const Channel& channel, bool fence = true) {
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

class DaemonTest : public testing::Test {
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
    return v1::CompileService::NewStub(unix_)->Compile(&context, request,
                                                       response);
  }

  DaemonProcess daemon_;
  Channel unix_ = daemon_.Unix();
  Channel tcp_ = daemon_.Tcp();
};

TEST_F(DaemonTest, SaysWhatItIs) {
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(
      v1::AdminService::NewStub(tcp_)->GetServerInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.pid(), daemon_.pid());
  EXPECT_EQ(info.protocol_versions(0), 1u);
  EXPECT_FALSE(info.version().empty());
  EXPECT_EQ(info.max_sessions(), 64u);
}

TEST_F(DaemonTest, SocketIsItsOwnersAlone) {
  struct stat info = {};
  ASSERT_EQ(stat(daemon_.socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(DaemonTest, ListsAndDescribesDevices) {
  const auto devices = v1::DeviceService::NewStub(unix_);
  grpc::ClientContext list_context, describe_context, unknown_context;
  v1::ListDevicesResponse list;
  ASSERT_TRUE(devices->ListDevices(&list_context, {}, &list).ok());
  ASSERT_GE(list.devices_size(), 1);
  EXPECT_EQ(list.driver().kind(), v1::Driver::KIND_SOFTWARE);
  EXPECT_TRUE(list.devices(0).attributes().empty());
  v1::DescribeDeviceRequest request;
  v1::DescribeDeviceResponse device;
  ASSERT_TRUE(
      devices->DescribeDevice(&describe_context, request, &device).ok());
  EXPECT_EQ(device.device().attributes().at("warp_size"), 32);
  request.set_ordinal(99);
  EXPECT_EQ(
      devices->DescribeDevice(&unknown_context, request, &device).error_code(),
      StatusCode::NOT_FOUND);
}

TEST_F(DaemonTest, LocalClientIsSentToTheExecutorItself) {
  TestSession session(unix_);
  EXPECT_EQ(session.opened().token().size(), 16u);
  const grpc::Status status =
      session.Run(Connect(session.opened().local_address()));
  EXPECT_TRUE(status.ok()) << Text(status);
  EXPECT_EQ(session.results().results_size(), 1);
}

TEST_F(DaemonTest, RemoteClientIsForwarded) {
  TestSession session(tcp_);
  EXPECT_EQ(session.opened().local_address(), "");
  const grpc::Status status = session.Run(tcp_);
  EXPECT_TRUE(status.ok()) << Text(status);
  EXPECT_EQ(session.results().results_size(), 1);
}

TEST_F(DaemonTest, ForwardsAStreamBothWays) {
  TestSession session(tcp_);
  grpc::ClientContext context;
  session.AddToken(&context);
  const auto stream = v1::CommandService::NewStub(tcp_)->Execute(&context);
  for (uint64_t sequence = 1; sequence <= 100; ++sequence) {
    v1::CommandBatch batch;
    batch.set_first_sequence(sequence);
    batch.add_commands()->mutable_fence();
    ASSERT_TRUE(stream->Write(batch));
    v1::ResultBatch results;
    ASSERT_TRUE(stream->Read(&results));
    ASSERT_EQ(results.results_size(), 1);
    EXPECT_EQ(results.results(0).sequence(), sequence);
  }
  stream->WritesDone();
  const grpc::Status status = stream->Finish();
  EXPECT_TRUE(status.ok()) << Text(status);
}

TEST_F(DaemonTest, ForwardsTheExecutorsErrors) {
  TestSession session(tcp_);
  v1::UploadResponse response;
  grpc::ClientContext context;
  session.AddToken(&context);
  const auto upload =
      v1::TransferService::NewStub(tcp_)->Upload(&context, &response);
  v1::UploadRequest header;
  header.mutable_header()->set_size(1);
  upload->Write(header);
  upload->WritesDone();
  const grpc::Status status = upload->Finish();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.error_code(), StatusCode::UNAVAILABLE) << Text(status);
}

TEST_F(DaemonTest, MessageOverTheExecutorsLimitIsRefusedAndTheSessionGoesOn) {
  TestSession session(tcp_);
  v1::CommandBatch batch;
  batch.set_first_sequence(1);
  batch.add_commands()->mutable_write_buffer()->set_data(
      std::string(6 << 20, 'x'));
  for (const Channel& channel : {tcp_, unix_}) {
    grpc::ClientContext context;
    session.AddToken(&context);
    v1::ResultBatch results;
    EXPECT_EQ(v1::CommandService::NewStub(channel)
                  ->Run(&context, batch, &results)
                  .error_code(),
              StatusCode::RESOURCE_EXHAUSTED);
  }
  EXPECT_TRUE(session.Run(tcp_).ok());
}

TEST_F(DaemonTest, MissingMalformedAndForgedTokensAreToldApart) {
  const auto commands = v1::CommandService::NewStub(tcp_);
  const auto run = [&](const char* token) {
    grpc::ClientContext context;
    if (token != nullptr) context.AddMetadata("holdfast-session-token", token);
    v1::CommandBatch batch;
    batch.set_first_sequence(1);
    v1::ResultBatch results;
    return commands->Run(&context, batch, &results).error_code();
  };
  TestSession session(tcp_);
  EXPECT_EQ(run(nullptr), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(run("abc"), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(run("zz23456789abcdef0123456789abcdef"),
            StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(run("0123456789abcdef0123456789abcdef"), StatusCode::NOT_FOUND);
  // The executor's own socket does not know it either.
  grpc::ClientContext context;
  context.AddMetadata("holdfast-session-token",
                      "0123456789abcdef0123456789abcdef");
  v1::CommandBatch batch;
  batch.set_first_sequence(1);
  v1::ResultBatch results;
  TestSession local(unix_);
  EXPECT_FALSE(
      v1::CommandService::NewStub(Connect(local.opened().local_address()))
          ->Run(&context, batch, &results)
          .ok());
}

TEST_F(DaemonTest, ListsSessionsWithTheirPeers) {
  TestSession a(unix_, "first"), b(tcp_, "second");
  const v1::ListSessionsResponse sessions = Sessions();
  ASSERT_EQ(sessions.sessions_size(), 2);
  EXPECT_EQ(sessions.sessions(0).name(), "first");
  EXPECT_EQ(sessions.sessions(0).peer(),
            absl::StrCat("unix uid=", getuid(), " pid=", getpid()));
  EXPECT_EQ(sessions.sessions(0).state(), v1::SessionInfo::STATE_ACTIVE);
  EXPECT_TRUE(absl::StartsWith(sessions.sessions(1).peer(), "tcp 127.0.0.1:"));
}

TEST_F(DaemonTest, ClosedSessionIsGone) {
  TestSession session(unix_);
  const pid_t executor = ExecutorPid(session);
  ASSERT_TRUE(session.Close().ok());
  EXPECT_EQ(session.AwaitEnd(), "");
  EXPECT_EQ(kill(executor, 0), -1);
  EXPECT_EQ(Sessions().sessions_size(), 0);
  EXPECT_EQ(session.Close().error_code(), StatusCode::NOT_FOUND);
}

TEST_F(DaemonTest, SessionOfADeadClientIsFreed) {
  TestSession dying(unix_), other(unix_);
  dying.Disconnect();
  while (Sessions().sessions_size() > 1) usleep(1000);
  EXPECT_TRUE(other.Run(unix_).ok());
}

TEST_F(DaemonTest, KilledExecutorLosesItsSessionAndNothingElse) {
  TestSession lost(tcp_), other(tcp_);
  ASSERT_TRUE(lost.Run(tcp_).ok());
  grpc::ClientContext context;
  lost.AddToken(&context);
  const auto stream = v1::CommandService::NewStub(tcp_)->Execute(&context);
  v1::CommandBatch batch;
  batch.set_first_sequence(100);
  batch.add_commands()->mutable_fence();
  v1::ResultBatch results;
  ASSERT_TRUE(stream->Write(batch) && stream->Read(&results));

  kill(ExecutorPid(lost), SIGKILL);

  EXPECT_FALSE(stream->Read(&results));
  const grpc::Status broken = stream->Finish();
  EXPECT_EQ(broken.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(absl::StrContains(broken.error_message(), "SIGKILL"))
      << Text(broken);
  const auto detail = GetErrorDetail(FromGrpcStatus(broken));
  ASSERT_TRUE(detail.has_value());
  EXPECT_TRUE(detail->session_lost);
  EXPECT_TRUE(absl::StrContains(lost.AwaitEnd(), "SIGKILL"));
  EXPECT_EQ(lost.Run(tcp_).error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(Sessions().sessions(0).state(), v1::SessionInfo::STATE_LOST);

  EXPECT_TRUE(other.Run(tcp_).ok());
  TestSession next(tcp_);
  EXPECT_TRUE(next.Run(tcp_).ok());
  EXPECT_TRUE(lost.Close().ok());
}

TEST_F(DaemonTest, OpenRefusesWhatItCannotServe) {
  const auto sessions = v1::SessionService::NewStub(unix_);
  const auto open = [&](const v1::OpenSessionRequest& request) {
    grpc::ClientContext context;
    v1::OpenSessionResponse response;
    return sessions->OpenSession(&context, request, &response).error_code();
  };
  v1::OpenSessionRequest request;
  EXPECT_EQ(open(request), StatusCode::INVALID_ARGUMENT);
  request.set_protocol_version(1);
  request.mutable_reconnect_grace()->set_seconds(7200);
  EXPECT_EQ(open(request), StatusCode::INVALID_ARGUMENT);
  request.clear_reconnect_grace();
  request.set_name(std::string(129, 'x'));
  EXPECT_EQ(open(request), StatusCode::INVALID_ARGUMENT);
}

TEST_F(DaemonTest, CompilesStoresAndServesAnObject) {
  v1::CompileRequest request;
  request.set_source("template <class T> __global__ void f(T* x) { *x = 1; }");
  request.add_name_expressions("f<float>");
  v1::CompileResponse response;
  const grpc::Status status = Compile(request, &response);
  ASSERT_TRUE(status.ok()) << Text(status);
  EXPECT_EQ(response.object().format(), v1::OBJECT_FORMAT_PTX);
  EXPECT_EQ(response.arch(), "compute_90");
  const std::string& symbol = response.object().symbols().at("f<float>");
  EXPECT_FALSE(symbol.empty());

  const auto objects = v1::ObjectService::NewStub(unix_);
  grpc::ClientContext get_context;
  v1::GetObjectRequest get;
  get.set_sha256(response.object().sha256());
  const auto reader = objects->GetObject(&get_context, get);
  std::string bytes;
  v1::GetObjectResponse part;
  while (reader->Read(&part)) bytes += part.data();
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(ToBytes(Sha256(bytes)), response.object().sha256());
  EXPECT_TRUE(absl::StrContains(bytes, symbol));
}

TEST_F(DaemonTest, CompileErrorBringsTheWholeLog) {
  v1::CompileRequest request;
  request.set_name("many.cu");
  std::string source;
  for (int i = 0; i < 90; ++i) {
    absl::StrAppend(&source, "int x", i, " = undefined_", i,
                    "_with_a_name_that_makes_the_log_long;\n");
  }
  request.set_source(source);
  v1::CompileResponse response;
  const grpc::Status status = Compile(request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  const auto detail = GetErrorDetail(FromGrpcStatus(status));
  ASSERT_TRUE(detail.has_value());
  // Over what gRPC clients take by default, from the first line to the last.
  EXPECT_GT(detail->log.size(), size_t{16} << 10);
  EXPECT_TRUE(absl::StartsWith(detail->log, "many.cu(1): error:"));
  EXPECT_TRUE(absl::StrContains(detail->log, "Compilation terminated."));
}

TEST_F(DaemonTest, CompileRefusesServerFilesAndOversizedSources) {
  v1::CompileRequest request;
  request.set_source("__global__ void f() {}");
  request.add_options("-I/etc");
  v1::CompileResponse response;
  EXPECT_EQ(Compile(request, &response).error_code(),
            StatusCode::INVALID_ARGUMENT);
  request.clear_options();
  request.set_source(std::string((10 << 20) + 1, ' '));
  EXPECT_EQ(Compile(request, &response).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(DaemonTest, PutObjectChecksSizeAndHash) {
  const auto objects = v1::ObjectService::NewStub(unix_);
  const auto put = [&](const std::string& bytes, const std::string& hash,
                       uint64_t size) {
    grpc::ClientContext context;
    v1::PutObjectResponse response;
    const auto writer = objects->PutObject(&context, &response);
    v1::PutObjectRequest part;
    part.mutable_header()->set_sha256(hash);
    part.mutable_header()->set_size(size);
    writer->Write(part);
    part.set_data(bytes);
    writer->Write(part);
    writer->WritesDone();
    return writer->Finish().error_code();
  };
  const std::string hash = ToBytes(Sha256("code"));
  EXPECT_EQ(put("code", hash, 4), StatusCode::OK);
  EXPECT_EQ(put("code", hash, 5), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(put("code", hash, 3), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(put("other", hash, 5), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(put("code", hash, uint64_t{1} << 40),
            StatusCode::RESOURCE_EXHAUSTED);
}

// One message each way, as bytes: for services whose stubs we do not have.
std::string Call(const Channel& channel, const std::string& method,
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
std::string HealthOf(const Channel& channel, const std::string& service) {
  std::string request;
  if (!service.empty()) {
    request =
        absl::StrCat("\x0a", std::string(1, char(service.size())), service);
  }
  return Call(channel, "/grpc.health.v1.Health/Check", request);
}

constexpr char kServing[] = "\x08\x01";
constexpr char kNotServing[] = "\x08\x02";

TEST_F(DaemonTest, IsHealthyOnceAnExecutorIsReady) {
  TestSession session(unix_);
  EXPECT_EQ(HealthOf(tcp_, ""), kServing);
  EXPECT_EQ(HealthOf(tcp_, "holdfast.v1.CommandService"), kServing);
  EXPECT_EQ(HealthOf(tcp_, "holdfast.v1.SessionService"), kServing);
}

TEST_F(DaemonTest, ReflectionListsEveryService) {
  // ServerReflectionRequest.list_services is field 7.
  const std::string services = Call(unix_,
                                    "/grpc.reflection.v1alpha.ServerReflection/"
                                    "ServerReflectionInfo",
                                    "\x3a\x01*");
  for (const char* name : {"Session", "Device", "Compile", "Object", "Command",
                           "Transfer", "Sharing", "Admin"}) {
    EXPECT_TRUE(absl::StrContains(
        services, absl::StrCat("holdfast.v1.", name, "Service")))
        << name;
  }
}

std::string CompileTo(const Channel& channel, const std::string& source,
                      v1::ObjectFormat target) {
  v1::CompileRequest request;
  request.set_source(source);
  request.set_target(target);
  request.set_arch("90");
  request.add_options("-rdc=true");
  grpc::ClientContext context;
  v1::CompileResponse response;
  const grpc::Status status = v1::CompileService::NewStub(channel)->Compile(
      &context, request, &response);
  EXPECT_TRUE(status.ok()) << Text(status);
  return response.object().sha256();
}

TEST_F(DaemonTest, LinksStoredObjectsAndFindsTheResultAgain) {
  v1::LinkRequest request;
  request.add_objects(CompileTo(unix_,
                                "extern __device__ int twice(int);"
                                "__global__ void f(int* p) { *p = twice(*p); }",
                                v1::OBJECT_FORMAT_LTOIR));
  request.add_inputs()->set_sha256(
      CompileTo(unix_, "__device__ int twice(int x) { return 2 * x; }",
                v1::OBJECT_FORMAT_LTOIR));
  request.set_target(v1::OBJECT_FORMAT_CUBIN);
  request.set_arch("90");
  const auto stub = v1::CompileService::NewStub(unix_);
  v1::LinkResponse first, again;
  {
    grpc::ClientContext context;
    const grpc::Status status = stub->Link(&context, request, &first);
    ASSERT_TRUE(status.ok()) << Text(status);
  }
  EXPECT_EQ(first.backend(), "nvJitLink");
  EXPECT_EQ(first.arch(), "sm_90");
  EXPECT_FALSE(first.cache_hit());
  EXPECT_TRUE(first.has_link_time());
  EXPECT_EQ(first.object().format(), v1::OBJECT_FORMAT_CUBIN);
  grpc::ClientContext context;
  ASSERT_TRUE(stub->Link(&context, request, &again).ok());
  EXPECT_TRUE(again.cache_hit());
  EXPECT_EQ(again.object().sha256(), first.object().sha256());
}

TEST_F(DaemonTest, LinkErrorsNameTheInputAndHaveTheLog) {
  const auto stub = v1::CompileService::NewStub(unix_);
  v1::LinkRequest request;
  request.set_target(v1::OBJECT_FORMAT_CUBIN);
  request.set_arch("90");
  const auto link = [&] {
    grpc::ClientContext context;
    v1::LinkResponse response;
    return FromGrpcStatus(stub->Link(&context, request, &response));
  };
  EXPECT_EQ(link().code(), absl::StatusCode::kInvalidArgument);
  request.add_objects(std::string(32, 'x'));
  EXPECT_EQ(link().code(), absl::StatusCode::kNotFound);
  request.clear_objects();
  v1::LinkInput& input = *request.add_inputs();
  input.set_name("mine");
  input.set_data(".version 8.0\n.target sm_90\n.address_size 64\nnonsense\n");
  absl::Status status = link();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "\"mine\"")) << status;
  input.set_format(v1::OBJECT_FORMAT_PTX);
  status = link();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "\"mine\"")) << status;
  ASSERT_TRUE(GetErrorDetail(status).has_value());
  EXPECT_FALSE(GetErrorDetail(status)->log.empty());
}

TEST_F(DaemonTest, UnservedCallsSaySo) {
  TestSession session(unix_);
  grpc::ClientContext context;
  session.AddToken(&context);
  v1::ExportBufferResponse response;
  const grpc::Status status =
      v1::SharingService::NewStub(unix_)->ExportBuffer(&context, {}, &response);
  EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_FALSE(status.error_message().empty());
}

TEST_F(DaemonTest, SigtermWaitsForSessionsAndLeavesNothing) {
  TestSession session(unix_);
  const pid_t executor = ExecutorPid(session);
  kill(daemon_.pid(), SIGTERM);
  // Refused once the signal has been seen; until then sessions may open.
  const auto sessions = v1::SessionService::NewStub(unix_);
  v1::OpenSessionRequest request;
  request.set_protocol_version(1);
  grpc::Status refused;
  do {
    grpc::ClientContext context;
    v1::OpenSessionResponse response;
    refused = sessions->OpenSession(&context, request, &response);
    if (!refused.ok()) break;
    grpc::ClientContext close_context;
    close_context.AddMetadata("holdfast-session-token",
                              absl::BytesToHexString(response.token()));
    v1::CloseSessionResponse closed;
    sessions->CloseSession(&close_context, {}, &closed);
  } while (true);
  EXPECT_EQ(refused.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(session.Run(unix_).ok());
  EXPECT_TRUE(session.Close().ok());
  EXPECT_EQ(daemon_.Wait(), 0);
  EXPECT_EQ(kill(executor, 0), -1);
  EXPECT_TRUE(std::filesystem::is_empty(daemon_.directory()));
}

TEST_F(DaemonTest, SecondSigtermStopsAtOnce) {
  TestSession session(unix_);
  auto end = std::async(std::launch::async, [&] { return session.AwaitEnd(); });
  kill(daemon_.pid(), SIGTERM);
  kill(daemon_.pid(), SIGINT);
  EXPECT_EQ(daemon_.Wait(), 0);
  EXPECT_TRUE(absl::StrContains(end.get(), "stopping"));
}

TEST_F(DaemonTest, KilledDaemonTakesItsProcessesAlongAndCanBeReplaced) {
  TestSession session(unix_);
  const pid_t executor = ExecutorPid(session);
  kill(daemon_.pid(), SIGKILL);
  EXPECT_EQ(daemon_.Wait(), -SIGKILL);
  const auto gone = [&] {
    std::ifstream stat(absl::StrCat("/proc/", executor, "/stat"));
    std::string pid, name, state;
    return !(stat >> pid >> name >> state) || state == "Z";
  };
  while (!gone()) usleep(1000);
  // Its socket file is still there; a new daemon takes it over.
  ASSERT_TRUE(std::filesystem::exists(daemon_.socket()));
  DaemonProcess next({"--listen=unix:" + daemon_.socket()});
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  EXPECT_TRUE(v1::AdminService::NewStub(daemon_.Unix())
                  ->GetServerInfo(&context, {}, &info)
                  .ok());
  EXPECT_EQ(info.pid(), next.pid());
}

TEST_F(DaemonTest, SecondDaemonOnTheSameSocketDoesNotStart) {
  DaemonProcess second({"--listen=unix:" + daemon_.socket()});
  EXPECT_EQ(second.Wait(), 1);
  TestSession session(unix_);
  EXPECT_TRUE(session.Run(unix_).ok());
}

TEST(DaemonStartTest, DaemonThatIsWatchedEndsWithItsParent) {
  int watch[2];
  ASSERT_EQ(pipe2(watch, O_CLOEXEC), 0);
  const int inherited = dup(watch[0]);
  DaemonProcess daemon({absl::StrCat("--watch-fd=", inherited)});
  TestSession session(daemon.Unix());
  close(watch[1]);
  EXPECT_EQ(daemon.Wait(), 0);
  close(watch[0]);
  close(inherited);
}

TEST(DaemonStartTest, NoUsableDriverIsSaidToClients) {
  DaemonProcess daemon({"--software-driver=/nonexistent/driver.so"});
  grpc::ClientContext context;
  v1::OpenSessionRequest request;
  request.set_protocol_version(1);
  v1::OpenSessionResponse response;
  const grpc::Status status = v1::SessionService::NewStub(daemon.Unix())
                                  ->OpenSession(&context, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(absl::StrContains(status.error_message(), "/nonexistent"))
      << Text(status);
  EXPECT_EQ(HealthOf(daemon.Unix(), ""), kNotServing);
}

TEST(DaemonStartTest, TooManySessionsAreRefused) {
  DaemonProcess daemon({"--max-sessions=1"});
  TestSession session(daemon.Unix());
  grpc::ClientContext context;
  v1::OpenSessionRequest request;
  request.set_protocol_version(1);
  v1::OpenSessionResponse response;
  EXPECT_EQ(v1::SessionService::NewStub(daemon.Unix())
                ->OpenSession(&context, request, &response)
                .error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
}

TEST(DaemonStartTest, PlainTcpBeyondLoopbackIsRefused) {
  DaemonProcess daemon({"--listen=tcp:0.0.0.0:0"});
  EXPECT_EQ(daemon.Wait(), 1);
}

}  // namespace
}  // namespace holdfast
