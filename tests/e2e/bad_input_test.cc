// SPDX-License-Identifier: Apache-2.0
//
// Mistakes of clients: each gives a clear status, after which the daemon and
// the session go on.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/box_copy.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/connection/daemon_stubs.h"
#include "client/cpp/connection/rpc_status.h"
#include "client/cpp/launch.h"
#include "client/cpp/session.h"
#include "core/base/error_detail.h"
#include "core/base/handle.h"
#include "grpcpp/generic/generic_stub.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "proto/metadata.h"
#include "tests/e2e/daemon_process.h"

namespace holdfast::e2e {
namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void add_one(int* data, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}
)";

#define EXPECT_SAYS(status, expected_code, text)                           \
  do {                                                                     \
    const absl::Status& checked = (status);                                \
    EXPECT_EQ(checked.code(), absl::StatusCode::expected_code) << checked; \
    EXPECT_TRUE(absl::StrContains(checked.message(), text)) << checked;    \
  } while (false)

class BadInputTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { daemon_ = new DaemonProcess(); }
  static void TearDownTestSuite() { delete daemon_; }

  void SetUp() override {
    auto session = Session::Open({.address = daemon_->address()});
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
  }

  // The session still works, in the end of every test.
  void TearDown() override {
    const Stream stream = *session_->device(0).CreateStream();
    const Buffer buffer = *session_->device(0).Allocate(16, stream);
    ASSERT_TRUE(buffer.Fill(uint8_t{3}, stream).ok());
    std::vector<uint8_t> bytes(16);
    const absl::Status status = buffer.Download(bytes, stream);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(bytes, std::vector<uint8_t>(16, 3));
  }

  Kernel AddOne() {
    auto compilation = Program(kSource).Compile(session_->daemon());
    EXPECT_TRUE(compilation.ok()) << compilation.status();
    module_.push_back(*session_->Load(compilation->object));
    return *module_.back().GetKernel("add_one");
  }

  Stream NewStream() { return *session_->device(0).CreateStream(); }

  static DaemonProcess* daemon_;
  std::unique_ptr<Session> session_;
  std::vector<Module> module_;
};

DaemonProcess* BadInputTest::daemon_ = nullptr;

// Limits the descriptors of a process to those that it has and `more`.
void LimitDescriptors(pid_t process, rlim_t more) {
  const std::string folder = absl::StrCat("/proc/", process, "/fd");
  rlimit limit = {};
  ASSERT_EQ(prlimit(process, RLIMIT_NOFILE, nullptr, &limit), 0);
  limit.rlim_cur = more;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto number = std::stoul(entry.path().filename().string());
    limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, number + 1 + more);
  }
  ASSERT_EQ(prlimit(process, RLIMIT_NOFILE, &limit, nullptr), 0);
}

// The daemon stopped when it could not take a process over from its spawner.
TEST_F(BadInputTest, ADaemonWithoutDescriptorsRefusesSessionsAndGoesOn) {
  std::vector<std::unique_ptr<Session>> sessions;
  LimitDescriptors(daemon_->pid(), 8);
  absl::Status refused;
  for (int i = 0; i < 16 && refused.ok(); ++i) {
    auto session = Session::Open({.address = daemon_->address()});
    refused = session.status();
    if (session.ok()) sessions.push_back(*std::move(session));
  }
  LimitDescriptors(daemon_->pid(), 1000);
  EXPECT_FALSE(refused.ok());
  // The pool of executors tries again after a pause.
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  auto session = Session::Open({.address = daemon_->address()});
  while (!session.ok() && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(50));
    session = Session::Open({.address = daemon_->address()});
  }
  EXPECT_TRUE(session.ok()) << session.status();
}

TEST_F(BadInputTest, ACompileErrorComesWithTheWholeLog) {
  const auto compilation =
      Program("__global__ void k() {\n  not_a_symbol;\n  nor_this;\n}",
              {.name = "broken.cu"})
          .Compile(session_->daemon());
  ASSERT_TRUE(absl::IsInvalidArgument(compilation.status()))
      << compilation.status();
  const auto detail = GetErrorDetail(compilation.status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_TRUE(absl::StrContains(detail->log, "broken.cu(2)")) << detail->log;
  EXPECT_TRUE(absl::StrContains(detail->log, "not_a_symbol")) << detail->log;
  EXPECT_TRUE(absl::StrContains(detail->log, "broken.cu(3)")) << detail->log;
}

TEST_F(BadInputTest, AnUnknownKernelNameListsWhatExists) {
  AddOne();
  const Kernel missing = *module_[0].GetKernel("add_two");
  const absl::Status status = missing.Describe().status();
  EXPECT_SAYS(status, kNotFound, "add_two");
  EXPECT_SAYS(status, kNotFound, "add_one");
  // It was told, and is not told again.
  EXPECT_TRUE(session_->Synchronize().ok());
  EXPECT_TRUE(absl::IsNotFound(missing.status()));
}

TEST_F(BadInputTest, AFailureThatACallHasToldIsNotToldAgain) {
  AddOne();
  const Stream stream = NewStream();
  EXPECT_FALSE(module_[0].GetGlobal("missing").ok());
  EXPECT_TRUE(stream.Synchronize().ok());
  const Buffer huge = *session_->device(0).Allocate(uint64_t{1} << 60, stream);
  std::vector<char> bytes(1);
  EXPECT_SAYS(huge.Download(bytes, stream), kResourceExhausted, "1152921504");
  EXPECT_TRUE(stream.Synchronize().ok());
  const Buffer another = *session_->device(0).Allocate(uint64_t{1} << 61);
  while (another.status().ok()) std::this_thread::yield();
  EXPECT_TRUE(stream.Synchronize().ok());
}

TEST_F(BadInputTest, ArgumentsMustMatchTheParameters) {
  const Kernel kernel = AddOne();
  const Stream stream = NewStream();
  const Buffer buffer = *session_->device(0).Allocate(64, stream);
  const LaunchConfig config = {.grid = 1, .block = 16};
  ASSERT_TRUE(Launch(stream, config, kernel, buffer).ok());
  EXPECT_SAYS(stream.Synchronize(), kInvalidArgument, "argument");
  ASSERT_TRUE(Launch(stream, config, kernel, buffer, 1u, 2u).ok());
  EXPECT_SAYS(stream.Synchronize(), kInvalidArgument, "argument");
  ASSERT_TRUE(Launch(stream, config, kernel, buffer, uint64_t{16}).ok());
  EXPECT_SAYS(stream.Synchronize(), kInvalidArgument, "8");
}

TEST_F(BadInputTest, DimensionsMustBeWithinTheDevicesLimits) {
  const Kernel kernel = AddOne();
  const Stream stream = NewStream();
  const Buffer buffer = *session_->device(0).Allocate(64, stream);
  const auto run = [&](const LaunchConfig& config) {
    const absl::Status refused = Launch(stream, config, kernel, buffer, 16u);
    EXPECT_TRUE(stream.Synchronize().ok());
    return refused;
  };
  EXPECT_SAYS(run({.grid = Dim3(0), .block = 1}), kInvalidArgument, "grid");
  EXPECT_SAYS(run({.grid = 1, .block = Dim3(1, 0)}), kInvalidArgument, "block");
  EXPECT_SAYS(run({.grid = Dim3(1, 70000), .block = 1}), kOutOfRange, "65535");
  EXPECT_SAYS(run({.grid = 1, .block = 2048}), kOutOfRange, "1024");
  EXPECT_SAYS(run({.grid = 1, .block = 1, .dynamic_shared_bytes = 100 << 20}),
              kOutOfRange, "shared");
  EXPECT_SAYS(run({.grid = 1 << 20, .block = 128, .cooperative = true}),
              kOutOfRange, "cooperative");
  EXPECT_TRUE(
      run({.grid = 1, .block = 1, .dynamic_shared_bytes = 64 << 10}).ok());
}

TEST_F(BadInputTest, CopiesMustFitTheBuffer) {
  const Stream stream = NewStream();
  const Buffer small = *session_->device(0).Allocate(64, stream);
  const Buffer large = *session_->device(0).Allocate(1 << 20, stream);
  std::vector<char> bytes(1 << 20);
  EXPECT_SAYS(small.Upload(bytes.data(), 65, stream), kOutOfRange, "64");
  EXPECT_SAYS(small.Upload(bytes, stream), kOutOfRange, "64");
  EXPECT_SAYS(small.Download(bytes.data(), 65, stream), kOutOfRange, "64");
  EXPECT_SAYS(small.Download(bytes, stream), kOutOfRange, "64");
  EXPECT_SAYS(small.CopyFrom(large, 0, 0, 65, stream), kOutOfRange, "64");
  // The sum of offset and size wraps.
  EXPECT_SAYS(small.CopyFrom(large, 0, UINT64_MAX - 3, 8, stream), kOutOfRange,
              "64");
  EXPECT_SAYS(small.Sub(32, 33).status(), kOutOfRange, "64");
  EXPECT_SAYS(small.Fill(uint8_t{1}, 1, 64, stream), kOutOfRange, "64");
  EXPECT_SAYS(CopyAll({{{small, 0, large, 0, 65}}}, stream), kOutOfRange, "64");
  EXPECT_TRUE(stream.Synchronize().ok());
  EXPECT_SAYS(small.CopyFrom(large, stream), kInvalidArgument, "1048576");
}

TEST_F(BadInputTest, AnAllocationLargerThanTheDeviceFailsAlone) {
  const Stream stream = NewStream();
  const Buffer huge = *session_->device(0).Allocate(uint64_t{1} << 60, stream);
  const Buffer absurd = *session_->device(0).Allocate(UINT64_MAX, stream);
  EXPECT_SAYS(stream.Synchronize(), kResourceExhausted, "1152921504606846976");
  EXPECT_SAYS(huge.status(), kResourceExhausted, "1152921504606846976");
  EXPECT_FALSE(absurd.status().ok());
  // A command that uses it repeats the cause.
  ASSERT_TRUE(huge.Fill(uint8_t{1}, stream).ok());
  EXPECT_SAYS(stream.Synchronize(), kResourceExhausted, "1152921504606846976");
}

// Commands as no library would send them.
class RawCommandsTest : public BadInputTest {
 protected:
  void SetUp() override {
    BadInputTest::SetUp();
    raw_ = *Daemon::Connect(daemon_->address());
    grpc::ClientContext context;
    v1::OpenSessionRequest request;
    request.set_protocol_version(1);
    ASSERT_TRUE(
        raw_->stubs().sessions.OpenSession(&context, request, &opened_).ok());
  }
  void TearDown() override {
    grpc::ClientContext context;
    AddToken(&context);
    v1::CloseSessionResponse response;
    raw_->stubs().sessions.CloseSession(&context, {}, &response);
    BadInputTest::TearDown();
  }

  void AddToken(grpc::ClientContext* context) {
    context->AddMetadata(kSessionTokenKey.name,
                         absl::BytesToHexString(opened_.token()));
  }

  absl::Status Run(const v1::CommandBatch& batch, v1::ResultBatch* results) {
    grpc::ClientContext context;
    AddToken(&context);
    return ToStatus(v1::CommandService::NewStub(raw_->channel())
                        ->Run(&context, batch, results));
  }

  // The error of a fill of this buffer.
  absl::Status FillStatus(uint64_t buffer) {
    v1::CommandBatch batch;
    batch.set_first_sequence(next_);
    const uint64_t stream = Handle{HandleKind::kStream, 1, 0}.Pack();
    if (next_ == 1) {
      batch.add_commands()->mutable_create_stream()->set_stream(stream);
    }
    v1::FillBuffer& fill = *batch.add_commands()->mutable_fill_buffer();
    fill.set_stream(stream);
    fill.set_buffer(buffer);
    fill.set_size(4);
    fill.set_byte(1);
    next_ += batch.commands_size();
    v1::ResultBatch results;
    const absl::Status status = Run(batch, &results);
    if (!status.ok() || results.results_size() != 1) return status;
    return ToStatus(results.results(0).error());
  }

  std::shared_ptr<Daemon> raw_;
  v1::OpenSessionResponse opened_;
  uint64_t next_ = 1;
};

TEST_F(RawCommandsTest, HandlesThatNameNothingAreRefused) {
  const auto refused = [this](const Handle& handle) {
    const absl::Status status = FillStatus(handle.Pack());
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(absl::IsInternal(status) || absl::IsUnknown(status) ||
                 absl::IsUnavailable(status))
        << status;
  };
  refused({HandleKind::kBuffer, 1, 0});         // never made
  refused({HandleKind::kBuffer, 1, 1u << 31});  // beyond the table
  refused({HandleKind::kStream, 1, 0});         // of another kind
  refused({HandleKind::kNone, 0, 0});
  refused({static_cast<HandleKind>(255), 1, 0});
}

TEST_F(RawCommandsTest, AHandleOfAnotherSessionIsUnknownHere) {
  const Buffer theirs = *session_->device(0).Allocate(64);
  ASSERT_TRUE(session_->Synchronize().ok());
  EXPECT_FALSE(FillStatus(theirs.handle()).ok());
}

TEST_F(RawCommandsTest, AStaleHandleIsRefused) {
  const uint64_t old_handle = Handle{HandleKind::kBuffer, 1, 0}.Pack();
  v1::CommandBatch batch;
  batch.set_first_sequence(1);
  const auto allocate = [&batch](uint64_t handle) {
    auto& command = *batch.add_commands()->mutable_allocate_buffer();
    command.set_buffer(handle);
    command.set_size(64);
    command.set_device(0);
  };
  batch.add_commands()->mutable_create_stream()->set_stream(
      Handle{HandleKind::kStream, 1, 0}.Pack());
  allocate(old_handle);
  batch.add_commands()->mutable_free_buffer()->set_buffer(old_handle);
  allocate(Handle{HandleKind::kBuffer, 2, 0}.Pack());
  v1::ResultBatch results;
  ASSERT_TRUE(Run(batch, &results).ok());
  ASSERT_EQ(results.results_size(), 0) << results.DebugString();
  next_ = 5;
  EXPECT_FALSE(FillStatus(old_handle).ok());
  EXPECT_TRUE(FillStatus(Handle{HandleKind::kBuffer, 2, 0}.Pack()).ok());
}

TEST_F(RawCommandsTest, AnEmptyCommandIsUnimplementedAndOthersAreDone) {
  v1::CommandBatch batch;
  batch.set_first_sequence(1);
  batch.add_commands();
  batch.add_commands()->mutable_fence();
  v1::ResultBatch results;
  ASSERT_TRUE(Run(batch, &results).ok());
  ASSERT_EQ(results.results_size(), 2) << results.DebugString();
  EXPECT_SAYS(ToStatus(results.results(0).error()), kUnimplemented, "");
  EXPECT_EQ(results.results(1).fence().first_failed_sequence(), 1u);
}

TEST_F(RawCommandsTest, SequenceNumbersMustGrow) {
  v1::CommandBatch batch;
  batch.set_first_sequence(7);
  batch.add_commands()->mutable_fence();
  v1::ResultBatch results;
  ASSERT_TRUE(Run(batch, &results).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Run(batch, &results)));
}

TEST_F(RawCommandsTest, CallsWithoutATokenAreRefused) {
  grpc::ClientContext context;
  v1::ResultBatch results;
  EXPECT_EQ(v1::CommandService::NewStub(raw_->channel())
                ->Run(&context, {}, &results)
                .error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  grpc::ClientContext forged;
  forged.AddMetadata(kSessionTokenKey.name, std::string(32, 'a'));
  EXPECT_EQ(v1::CommandService::NewStub(raw_->channel())
                ->Run(&forged, {}, &results)
                .error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(RawCommandsTest, OversizedMessagesAreRefused) {
  v1::CommandBatch batch;
  batch.set_first_sequence(1);
  batch.add_commands()->mutable_write_buffer()->set_data(
      std::string(32 << 20, 'x'));
  v1::ResultBatch results;
  const absl::Status status = Run(batch, &results);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  // Inline data has a limit of its own.
  batch.mutable_commands(0)->mutable_write_buffer()->set_data(
      std::string(1 << 20, 'x'));
  ASSERT_TRUE(Run(batch, &results).ok());
  ASSERT_EQ(results.results_size(), 1);
  EXPECT_TRUE(results.results(0).has_error());
}

// As a client would that does not look.
TEST_F(RawCommandsTest, TextThatIsNotUtf8IsNoSilentError) {
  // CompileRequest.options, field 5.
  const std::string bytes = "\x2a\x02\xff\xfe";
  grpc::GenericStub stub(raw_->channel());
  for (const char* method : {"/holdfast.v1.CompileService/Compile",
                             "/holdfast.v1.CompileService/CompileWithProgress",
                             "/holdfast.v1.CompileService/Link",
                             "/holdfast.v1.CompileService/LinkWithProgress"}) {
    const grpc::Slice slice(bytes.data(), bytes.size());
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    grpc::Status status;
    auto call = stub.PrepareUnaryCall(&context, method, request, &queue);
    call->StartCall();
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_TRUE(absl::StrContains(status.error_message(), method))
        << status.error_message();
    EXPECT_TRUE(absl::StrContains(status.error_message(), "UTF-8"));
    queue.Shutdown();
  }
}

TEST_F(RawCommandsTest, TruncatedMessagesAreRefused) {
  v1::CommandBatch batch;
  batch.set_first_sequence(1);
  batch.add_commands()->mutable_write_buffer()->set_data("0123456789");
  const std::string bytes = batch.SerializeAsString();
  grpc::GenericStub stub(raw_->channel());
  for (size_t size = 1; size < bytes.size(); ++size) {
    const grpc::Slice slice(bytes.data(), size);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    grpc::ClientContext context;
    AddToken(&context);
    grpc::CompletionQueue queue;
    grpc::Status status;
    auto call = stub.PrepareUnaryCall(
        &context, "/holdfast.v1.CommandService/Run", request, &queue);
    call->StartCall();
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    // A message cut between two fields is one of its own.
    EXPECT_NE(status.error_code(), grpc::StatusCode::UNAVAILABLE)
        << size << ": " << status.error_message();
    queue.Shutdown();
  }
}

}  // namespace
}  // namespace holdfast::e2e
