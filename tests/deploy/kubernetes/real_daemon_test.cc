// SPDX-License-Identifier: Apache-2.0
//
// The plugin with a real daemon and the real command line: what a pod may do
// there, and that nothing of it is left.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/connection/bearer_token.h"
#include "deploy/kubernetes/node_plugin.h"
#include "holdfast/v1/admin.grpc.pb.h"
#include "holdfast/v1/sessions.grpc.pb.h"
#include "tests/deploy/kubernetes/fake_kubelet.h"
#include "tests/server/testing/daemon_process.h"

namespace holdfast::kubernetes {
namespace {

namespace fs = std::filesystem;
using grpc::StatusCode;
using Channel = std::shared_ptr<grpc::Channel>;

class RealDaemonTest : public testing::Test {
 protected:
  RealDaemonTest() {
    char name[] = "/tmp/holdfast-test-XXXXXX";
    directory_ = mkdtemp(name);
    std::ofstream(directory_ + "/policy.toml") << "unnamed = \"refuse\"\n";
    daemon_ = std::make_unique<DaemonProcess>(std::vector<std::string>{
        "--socket-mode=0666", "--policy=" + directory_ + "/policy.toml",
        "--operator-socket=" + operators()});
    kubelet_ = std::make_unique<FakeKubelet>(directory_);
    plugin_ = std::make_unique<NodePlugin>(
        node::NodeDaemon(fs::absolute(getenv("HOLDFAST_CLI")).string(),
                         "unix:" + operators()),
        Kubelet(directory_, directory_ + "/pods.sock"),
        std::vector<Resource>{{Resource::Kind::kSession, 4}},
        SocketAccess{.directory = daemon_->directory()});
    EXPECT_TRUE(plugin_->Step(absl::Now()).ok());
  }
  ~RealDaemonTest() override {
    plugin_ = nullptr;
    kubelet_ = nullptr;
    daemon_ = nullptr;
    fs::remove_all(directory_);
  }

  std::string operators() const { return directory_ + "/operators/d.sock"; }

  // Allocates `count` sessions for a container, as the kubelet does.
  v1beta1::ContainerAllocateResponse Allocate(int count) {
    v1beta1::AllocateRequest request;
    auto& container = *request.add_container_requests();
    for (int i = 0; i < count; ++i) {
      container.add_devices_ids(absl::StrCat("session-", i));
    }
    grpc::ClientContext context;
    v1beta1::AllocateResponse response;
    const grpc::Status status =
        v1beta1::DevicePlugin::NewStub(
            Connect("unix:" + directory_ + "/holdfast-session.sock"))
            ->Allocate(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return status.ok() ? response.container_responses(0)
                       : v1beta1::ContainerAllocateResponse();
  }

  // A connection of a process in the container; without a token it has dropped
  // that.
  static Channel Container(const v1beta1::ContainerAllocateResponse& pod,
                           bool with_token) {
    std::vector<
        std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
        interceptors;
    if (with_token) {
      interceptors.push_back(SendToken(pod.envs().at("HOLDFAST_TOKEN")));
    }
    return grpc::experimental::CreateCustomChannelWithInterceptors(
        pod.envs().at("HOLDFAST_ADDRESS"), grpc::InsecureChannelCredentials(),
        {}, std::move(interceptors));
  }

  static StatusCode Open(const Channel& channel) {
    grpc::ClientContext context;
    v1::OpenSessionRequest request;
    request.set_protocol_version(1);
    v1::OpenSessionResponse response;
    return v1::SessionService::NewStub(channel)
        ->OpenSession(&context, request, &response)
        .error_code();
  }

  static StatusCode CreateTenant(const Channel& channel) {
    grpc::ClientContext context;
    v1::CreateTenantRequest request;
    request.set_name("mine");
    v1::CreateTenantResponse response;
    return v1::AdminService::NewStub(channel)
        ->CreateTenant(&context, request, &response)
        .error_code();
  }

  std::string directory_;
  std::unique_ptr<DaemonProcess> daemon_;
  std::unique_ptr<FakeKubelet> kubelet_;
  std::unique_ptr<NodePlugin> plugin_;
};

TEST_F(RealDaemonTest, APodHasWhatItWasGivenAndNothingAfterItsEnd) {
  const auto pod = Allocate(1);
  kubelet_->AddPod("holdfast.dev/session", "session-0");
  ASSERT_TRUE(plugin_->Step(absl::Now()).ok());
  const Channel container = Container(pod, /*with_token=*/true);
  EXPECT_EQ(Open(container), StatusCode::OK);
  EXPECT_EQ(Open(container), StatusCode::RESOURCE_EXHAUSTED);
  kubelet_->RemovePods();
  ASSERT_TRUE(plugin_->Step(absl::Now()).ok());
  EXPECT_EQ(plugin_->tenants(), 0u);
  EXPECT_EQ(Open(container), StatusCode::UNAUTHENTICATED);
}

// The test's user is the daemon's, as root in a container is the root of the
// kernel's answer.
TEST_F(RealDaemonTest, APodThatDropsItsTokenIsNobodyEvenAsTheDaemonsUser) {
  const auto pod = Allocate(1);
  const Channel dropped = Container(pod, /*with_token=*/false);
  EXPECT_EQ(Open(dropped), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(CreateTenant(dropped), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Open(Container(pod, /*with_token=*/true)), StatusCode::OK);
}

}  // namespace
}  // namespace holdfast::kubernetes
