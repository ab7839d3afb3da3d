// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/rpc_server.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "holdfast/v1/admin.grpc.pb.h"

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

}  // namespace
}  // namespace holdfast
