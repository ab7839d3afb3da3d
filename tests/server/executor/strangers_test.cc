// SPDX-License-Identifier: Apache-2.0
//
// Clients without the session's token, at the sockets of an executor: what they
// can take is bounded, and the session's own clients come in meanwhile.
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/descriptor_socket.h"
#include "server/executor/service/fd_receiver.h"
#include "server/rpc/connection_limits.h"
#include "server/rpc/unix_socket.h"
#include "tests/server/executor/executor_fixture.h"
#include "tests/server/testing/raw_http2.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

constexpr char kRun[] = "/holdfast.v1.CommandService/Run";

class StrangersTest : public ExecutorTest {
 protected:
  std::string address() const { return "unix:" + socket_path(); }

  // A client of the session that connects now.
  grpc::Status RunOnANewConnection() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto stub = v1::CommandService::NewStub(grpc::CreateCustomChannel(
        address(), grpc::InsecureChannelCredentials(), arguments));
    Batch batch(next_sequence_++);
    batch.Fence();
    v1::ResultBatch results;
    const auto context = Context();
    context->set_wait_for_ready(true);
    return stub->Run(context.get(), batch.proto(), &results);
  }

  int64_t MostMegabytes() const {
    std::ifstream status(absl::StrCat("/proc/", pid(), "/status"));
    for (std::string line; std::getline(status, line);) {
      if (absl::StartsWith(line, "VmHWM:")) {
        return std::stoll(line.substr(6)) / 1024;
      }
    }
    return 0;
  }

  uint64_t next_sequence_ = 1;
};

TEST_F(StrangersTest, ConnectionsAreBoundedAndANewClientComesIn) {
  ASSERT_TRUE(RunOnANewConnection().ok());
  std::vector<RawHttp2> idle;
  for (size_t i = 0; i < 4 * kMaxStrangers; ++i) {
    idle.emplace_back(address());
    EXPECT_TRUE(idle.back().Begin());
  }
  const grpc::Status status = RunOnANewConnection();
  EXPECT_TRUE(status.ok()) << status.error_message();
  size_t open = 0;
  for (RawHttp2& connection : idle) {
    if (!connection.IsClosed(/*milliseconds=*/20)) ++open;
  }
  EXPECT_LE(open, kMaxStrangers);
  EXPECT_GT(open, 0u);
}

// The connection of a client stays, however many strangers come.
TEST_F(StrangersTest, AClientThatIsConnectedIsNotClosedForThem) {
  auto context = Context();
  auto stream = commands().Execute(context.get());
  Batch first(1);
  first.Fence();
  v1::ResultBatch results;
  ASSERT_TRUE(stream->Write(first.proto()));
  ASSERT_TRUE(stream->Read(&results));
  for (size_t i = 0; i < 2000; ++i) {
    RawHttp2 connection(address());
    connection.Begin();
  }
  Batch second(2);
  second.Fence();
  EXPECT_TRUE(stream->Write(second.proto()));
  EXPECT_TRUE(stream->Read(&results));
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(StrangersTest, RapidResetEndsItsConnectionAndTakesBoundedMemory) {
  const int64_t before = MostMegabytes();
  RawHttp2 flood(address());
  ASSERT_TRUE(flood.Begin());
  bool open = true;
  for (uint32_t i = 0; i < 100'000 && open; ++i) {
    flood.AddHeaders(2 * i + 1, kRun);
    flood.AddReset(2 * i + 1);
    if (i % 100 == 99) open = flood.Flush();
  }
  EXPECT_TRUE(flood.IsClosed(10'000));
  const grpc::Status status = RunOnANewConnection();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_LT(MostMegabytes() - before, 400);
}

// Calls that begin and never go on: their connection is closed, since nobody
// who has the token begins so many without showing it.
TEST_F(StrangersTest, CallsThatAreNeverSentAreBounded) {
  RawHttp2 half(address());
  ASSERT_TRUE(half.Begin());
  for (uint32_t i = 0; i < 4 * kStrangerStreams.open; ++i) {
    half.AddHeaders(2 * i + 1, kRun);
  }
  ASSERT_TRUE(half.Flush());
  bool closed = false;
  for (int i = 0; i < 100 && !closed; ++i) {
    half.AddSettings();  // Bytes make the executor look.
    closed = !half.Flush() || half.IsClosed(/*milliseconds=*/100);
  }
  EXPECT_TRUE(closed);
  EXPECT_TRUE(RunOnANewConnection().ok());
}

TEST(FdReceiverTest, StrangersCauseABoundedNumberOfLines) {
  // Paths of sockets are short.
  const std::string path = absl::StrCat("/tmp/holdfast-inbox-", getpid());
  ASSERT_OK_AND_ASSIGN(UniqueFd socket,
                       ListenOnUnixSocket(path, SOCK_SEQPACKET, 0600));
  ASSERT_OK_AND_ASSIGN(
      const auto inbox,
      executor::FdReceiver::Serve(std::move(socket), std::string(16, 't')));
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(SendFd(path, std::string(16, 'x'), STDERR_FILENO).ok());
  }
  const std::vector<std::string> lines =
      absl::StrSplit(::testing::internal::GetCapturedStderr(), '\n');
  EXPECT_GT(lines.size(), 10u);
  EXPECT_LT(lines.size(), 500u);
  unlink(path.c_str());
}

}  // namespace
}  // namespace holdfast::testing
