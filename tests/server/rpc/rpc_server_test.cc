// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/rpc_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/client_unary_call.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "holdfast/v1/admin.grpc.pb.h"
#include "server/rpc/unix_socket.h"

namespace holdfast {
namespace {

// A service whose calls hold a thread of gRPC's each, as those of reflection.
class SlowService final : public v1::AdminService::Service {
 public:
  grpc::Status GetServerInfo(grpc::ServerContext*,
                             const v1::GetServerInfoRequest*,
                             v1::GetServerInfoResponse*) override {
    leave.WaitForNotification();
    return grpc::Status::OK;
  }

  absl::Notification leave;
};

TEST(RpcServerTest, ACallWithoutAThreadIsNotTakenForAMalformedOne) {
  char directory[] = "/tmp/holdfast-test-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  Endpoint endpoint;
  endpoint.path = std::string(directory) + "/socket";
  SlowService service;
  PeerTable peers;
  auto server = RpcServer::Start(
      {.endpoints = {endpoint}},
      {{v1::AdminService::service_full_name(), &service}}, peers);
  ASSERT_TRUE(server.ok()) << server.status();
  constexpr int kCalls = 64;
  std::vector<grpc::Status> ends(kCalls);
  std::vector<std::thread> calls;
  std::atomic<int> ended = 0;
  for (grpc::Status& end : ends) {
    calls.emplace_back([&] {
      const auto stub = v1::AdminService::NewStub(grpc::CreateChannel(
          "unix:" + endpoint.path, grpc::InsecureChannelCredentials()));
      grpc::ClientContext context;
      v1::GetServerInfoResponse response;
      end = stub->GetServerInfo(&context, {}, &response);
      ++ended;
    });
  }
  // Those that are refused end while the others wait.
  while (ended == 0) std::this_thread::yield();
  service.leave.Notify();
  for (std::thread& call : calls) call.join();
  int refused = 0;
  for (const grpc::Status& end : ends) {
    if (end.ok()) continue;
    ++refused;
    EXPECT_EQ(end.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED)
        << end.error_message();
  }
  EXPECT_GT(refused, 0);
  server->reset();
  std::filesystem::remove_all(directory);
}

// Asks a server for the list of its services, field 7 of a request of
// reflection's.
grpc::Status AskForServices(const std::string& path) {
  const auto channel =
      grpc::CreateChannel("unix:" + path, grpc::InsecureChannelCredentials());
  const grpc::internal::RpcMethod method(
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
      grpc::internal::RpcMethod::NORMAL_RPC);
  const grpc::Slice request("\x3a\x01*");
  grpc::ByteBuffer response;
  grpc::ClientContext context;
  return grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
      channel.get(), method, &context, grpc::ByteBuffer(&request, 1),
      &response);
}

// Reflection asks no policy who is served.
TEST(RpcServerTest, ReflectionCanBeLeftOut) {
  char directory[] = "/tmp/holdfast-test-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  PeerTable peers;
  for (const bool reflection : {true, false}) {
    Endpoint endpoint;
    endpoint.path = std::string(directory) + "/socket";
    SlowService service;
    auto server = RpcServer::Start(
        {.endpoints = {endpoint}, .reflection = reflection},
        {{v1::AdminService::service_full_name(), &service}}, peers);
    ASSERT_TRUE(server.ok()) << server.status();
    EXPECT_EQ(
        AskForServices(endpoint.path).error_code(),
        reflection ? grpc::StatusCode::OK : grpc::StatusCode::UNIMPLEMENTED);
  }
  std::filesystem::remove_all(directory);
}

// A directory with a listening socket in it, as a service manager makes one.
class InheritedSocketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/holdfast-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    path_ = directory_ + "/socket";
    auto socket = ListenOnUnixSocket(path_, SOCK_STREAM, 0600);
    ASSERT_TRUE(socket.ok()) << socket.status();
    manager_ = *std::move(socket);
    service_.leave.Notify();
  }
  ~InheritedSocketTest() override { std::filesystem::remove_all(directory_); }

  // Starts a server that is told of the socket, and of `endpoints`.
  absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      std::vector<Endpoint> endpoints, mode_t mode = 0600) {
    RpcServer::Options options = {.endpoints = std::move(endpoints),
                                  .socket_mode = mode};
    options.inherited[path_] = UniqueFd(dup(manager_.get()));
    return RpcServer::Start(
        std::move(options),
        {{v1::AdminService::service_full_name(), &service_}}, peers_);
  }

  // Returns the status of a call on the socket.
  grpc::Status Ask() {
    const auto stub = v1::AdminService::NewStub(grpc::CreateChannel(
        "unix:" + path_, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    v1::GetServerInfoResponse response;
    return stub->GetServerInfo(&context, {}, &response);
  }

  std::string directory_;
  std::string path_;
  UniqueFd manager_;
  SlowService service_;
  PeerTable peers_;
};

TEST_F(InheritedSocketTest, IsServedInPlaceOfOneOfOurOwn) {
  Endpoint same;
  same.path = path_;
  auto server = Start({same});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->endpoints().size(), 1u);
  EXPECT_TRUE(Ask().ok()) << Ask().error_message();
}

TEST_F(InheritedSocketTest, IsServedEvenIfNoFlagNamesIt) {
  Endpoint other;
  other.path = directory_ + "/other";
  auto server = Start({other});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->endpoints().size(), 2u);
  EXPECT_TRUE(Ask().ok()) << Ask().error_message();
}

TEST_F(InheritedSocketTest, StaysForTheNextServer) {
  ASSERT_TRUE(Start({}).ok());
  ASSERT_TRUE(std::filesystem::exists(path_));
  // Connects while nobody serves.
  grpc::Status answer = grpc::Status::CANCELLED;
  std::thread client([&] { answer = Ask(); });
  auto server = Start({});
  ASSERT_TRUE(server.ok()) << server.status();
  client.join();
  EXPECT_TRUE(answer.ok()) << answer.error_message();
}

TEST_F(InheritedSocketTest, OfAnotherModeThanTheSessionsSocketsIsRefused) {
  const auto server = Start({}, /*mode=*/0666);
  ASSERT_EQ(server.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(server.status().message().find("--socket-mode is 0666"),
            absl::string_view::npos)
      << server.status();
}

}  // namespace
}  // namespace holdfast
