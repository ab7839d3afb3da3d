// SPDX-License-Identifier: Apache-2.0
//
// The plugin against a kubelet of the test's own, which speaks the kubelet's
// half of both protocols, and a command line `holdfast` that keeps tenants as
// directories.
#include "deploy/kubernetes/node_plugin.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "kubelet/device_plugin.grpc.pb.h"
#include "tests/deploy/kubernetes/fake_kubelet.h"

namespace holdfast::kubernetes {
namespace {

namespace fs = std::filesystem;

constexpr char kCli[] = R"script(#!/bin/sh
cd "$(dirname "$0")"
echo "$@" >>asked
case "$1 $2" in
  devices*) cat devices ;;
  "tenants create")
    [ ! -e full ] || { echo "holdfast: resource exhausted" >&2; exit 1; }
    mkdir "tenants/$3" || { echo "holdfast: already exists" >&2; exit 1; }
    [ ! -e silent ] || exit 3
    echo "{\"token\": \"token of $3\"}" ;;
  "tenants end")
    [ ! -e stuck ] || exit 3
    rmdir "tenants/$3" || { echo "holdfast: not found" >&2; exit 1; }
    echo "{}" ;;
  "tenants ls")
    for name in $(ls tenants); do echo "{\"name\": \"$name\"}"; done |
      paste -sd, | sed 's/.*/{"tenants": [&]}/' ;;
esac
)script";

class NodePluginTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/holdfast-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    fs::create_directory(directory_ + "/tenants");
    std::ofstream(directory_ + "/holdfast") << kCli;
    chmod((directory_ + "/holdfast").c_str(), 0755);
    SetDevices(R"({"devices": [{"ordinal": 0, "total_memory": 1}]})");
    StartKubelet();
    StartPlugin();
  }
  ~NodePluginTest() override {
    plugin_ = nullptr;
    kubelet_ = nullptr;
    fs::remove_all(directory_);
  }

  void StartKubelet() {
    kubelet_ = nullptr;
    fs::remove(directory_ + "/kubelet.sock");
    kubelet_ = std::make_unique<FakeKubelet>(directory_);
  }
  void StartPlugin(bool by_cdi = false) {
    plugin_ = nullptr;
    plugin_ = std::make_unique<NodePlugin>(
        node::NodeDaemon(directory_ + "/holdfast", "unix:/x"),
        Kubelet(directory_, directory_ + "/pods.sock"),
        std::vector<Resource>{{Resource::Kind::kSession, 4},
                              {Resource::Kind::kMemory, 16}},
        SocketAccess{.directory = "/run/holdfast", .by_cdi = by_cdi});
    ASSERT_TRUE(plugin_->Step(now_).ok());
  }
  void SetDevices(const std::string& json) {
    std::ofstream(directory_ + "/devices") << json;
  }
  void Touch(const std::string& name) {
    std::ofstream(directory_ + "/" + name) << "x";
  }

  std::unique_ptr<v1beta1::DevicePlugin::Stub> Dial(
      const std::string& resource) {
    return v1beta1::DevicePlugin::NewStub(grpc::CreateChannel(
        "unix:" + directory_ + "/holdfast-" + resource + ".sock",
        grpc::InsecureChannelCredentials()));
  }
  grpc::Status Allocate(const std::string& resource,
                        const std::vector<std::string>& devices,
                        v1beta1::ContainerAllocateResponse* answer) {
    v1beta1::AllocateRequest request;
    request.add_container_requests()->mutable_devices_ids()->Add(
        devices.begin(), devices.end());
    v1beta1::AllocateResponse response;
    grpc::ClientContext context;
    const grpc::Status status =
        Dial(resource)->Allocate(&context, request, &response);
    if (status.ok()) *answer = response.container_responses(0);
    return status;
  }
  std::string Tenants() {
    std::string names;
    for (const auto& entry : fs::directory_iterator(directory_ + "/tenants")) {
      names += entry.path().filename().string() + " ";
    }
    return names;
  }
  std::string Asked() {
    std::ifstream file(directory_ + "/asked");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string directory_;
  absl::Time now_ = absl::Now();
  v1beta1::ContainerAllocateResponse answer_;
  std::unique_ptr<FakeKubelet> kubelet_;
  std::unique_ptr<NodePlugin> plugin_;
};

TEST_F(NodePluginTest, RegistersEachResourceOnce) {
  ASSERT_TRUE(plugin_->Step(now_).ok());
  const auto registered = kubelet_->registered();
  ASSERT_EQ(registered.size(), 2u);
  EXPECT_EQ(registered[0].version(), "v1beta1");
  EXPECT_EQ(registered[0].resource_name(), "holdfast.dev/session");
  EXPECT_EQ(registered[0].endpoint(), "holdfast-session.sock");
  EXPECT_EQ(registered[1].resource_name(), "holdfast.dev/memory-gib");
}

TEST_F(NodePluginTest, ListsDevicesAndTellsOfTheirHealth) {
  const auto stub = Dial("memory-gib");
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(1)));
  const auto stream = stub->ListAndWatch(&context, {});
  v1beta1::ListAndWatchResponse list;
  ASSERT_TRUE(stream->Read(&list));
  ASSERT_EQ(list.devices_size(), 16);
  EXPECT_EQ(list.devices(3).id(), "memory-gib-3");
  EXPECT_EQ(list.devices(3).health(), "Healthy");
  SetDevices(R"({"devices": [{"health": {"state": "quarantined"}}]})");
  ASSERT_TRUE(plugin_->Step(now_).ok());
  ASSERT_TRUE(stream->Read(&list));
  EXPECT_EQ(list.devices(3).health(), "Unhealthy");
  context.TryCancel();
}

TEST_F(NodePluginTest, APodGetsATenantThatEndsWithIt) {
  ASSERT_TRUE(
      Allocate("memory-gib", {"memory-gib-5", "memory-gib-2"}, &answer_).ok());
  EXPECT_EQ(answer_.envs().at("HOLDFAST_TOKEN"), "token of pod-memory-gib-2");
  EXPECT_EQ(answer_.envs().at("HOLDFAST_ADDRESS"),
            "unix:/run/holdfast/holdfast.sock");
  EXPECT_EQ(answer_.mounts(0).host_path(), "/run/holdfast");
  EXPECT_NE(Asked().find("tenants create pod-memory-gib-2 --weight=1 "
                         "--memory=2147483648 "),
            std::string::npos)
      << Asked();
  kubelet_->AddPod("holdfast.dev/memory-gib", "memory-gib-2");
  ASSERT_TRUE(plugin_->Step(now_ + absl::Hours(1)).ok());
  EXPECT_EQ(Tenants(), "pod-memory-gib-2 ");
  kubelet_->RemovePods();
  ASSERT_TRUE(plugin_->Step(now_ + absl::Hours(1)).ok());
  EXPECT_EQ(Tenants(), "");
}

TEST_F(NodePluginTest, ContainersGetTheSocketsByCdiWhereTheEngineKnowsIt) {
  StartPlugin(/*by_cdi=*/true);
  ASSERT_TRUE(Allocate("session", {"session-0"}, &answer_).ok());
  ASSERT_EQ(answer_.cdi_devices_size(), 1);
  EXPECT_EQ(answer_.cdi_devices(0).name(), "holdfast.dev/daemon=all");
  EXPECT_EQ(answer_.mounts_size(), 0);
  EXPECT_EQ(answer_.envs().at("HOLDFAST_TOKEN"), "token of pod-session-0");
}

TEST_F(NodePluginTest, SessionsAreAQuotaOfTheirOwn) {
  ASSERT_TRUE(Allocate("session", {"session-0", "session-1"}, &answer_).ok());
  EXPECT_NE(Asked().find("create pod-session-0 --weight=1 --sessions=2 "),
            std::string::npos)
      << Asked();
}

TEST_F(NodePluginTest, APodThatNeverAppearsLosesItsTenant) {
  ASSERT_TRUE(Allocate("session", {"session-0"}, &answer_).ok());
  ASSERT_TRUE(plugin_->Step(absl::Now()).ok());
  EXPECT_EQ(Tenants(), "pod-session-0 ");
  ASSERT_TRUE(plugin_->Step(absl::Now() + absl::Minutes(2)).ok());
  EXPECT_EQ(Tenants(), "");
}

TEST_F(NodePluginTest, ADeviceThatIsGivenAgainHasANewTenant) {
  ASSERT_TRUE(Allocate("session", {"session-0"}, &answer_).ok());
  ASSERT_TRUE(Allocate("session", {"session-0"}, &answer_).ok());
  EXPECT_EQ(plugin_->tenants(), 1u);
  EXPECT_NE(Asked().find("tenants end pod-session-0"), std::string::npos);
}

TEST_F(NodePluginTest, APodThatLosesItsFirstDeviceKeepsItsTenant) {
  ASSERT_TRUE(Allocate("session", {"session-1", "session-3"}, &answer_).ok());
  kubelet_->AddPod("holdfast.dev/session", "session-3");
  ASSERT_TRUE(plugin_->Step(now_ + absl::Hours(1)).ok());
  EXPECT_EQ(Tenants(), "pod-session-1 ");
  kubelet_->RemovePods();
  ASSERT_TRUE(plugin_->Step(now_ + absl::Hours(1)).ok());
  EXPECT_EQ(Tenants(), "");
}

TEST_F(NodePluginTest, ATenantEndsWhenAnyOfItsDevicesIsGivenAgain) {
  ASSERT_TRUE(Allocate("session", {"session-1", "session-3"}, &answer_).ok());
  ASSERT_TRUE(Allocate("session", {"session-3"}, &answer_).ok());
  EXPECT_EQ(Tenants(), "pod-session-3 ");
  EXPECT_EQ(plugin_->tenants(), 1u);
}

TEST_F(NodePluginTest, ATenantWhoseTokenWasLostIsEnded) {
  Touch("silent");
  EXPECT_EQ(Allocate("session", {"session-0"}, &answer_).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Tenants(), "pod-session-0 ");
  ASSERT_TRUE(plugin_->Step(absl::Now() + absl::Minutes(2)).ok());
  EXPECT_EQ(Tenants(), "");
}

TEST_F(NodePluginTest, NothingEndsWhileTheKubeletDoesNotAnswer) {
  ASSERT_TRUE(Allocate("session", {"session-0"}, &answer_).ok());
  kubelet_ = nullptr;
  ASSERT_TRUE(plugin_->Step(now_ + absl::Hours(1)).ok());
  EXPECT_EQ(Tenants(), "pod-session-0 ");
}

TEST_F(NodePluginTest, AKubeletThatIsStartedAnewIsToldAgain) {
  StartKubelet();
  ASSERT_TRUE(plugin_->Step(now_).ok());
  EXPECT_EQ(kubelet_->registered().size(), 2u);
  EXPECT_TRUE(Allocate("session", {"session-0"}, &answer_).ok());
}

TEST_F(NodePluginTest, APluginThatIsStartedAnewKnowsItsTenants) {
  ASSERT_TRUE(Allocate("session", {"session-0"}, &answer_).ok());
  ASSERT_TRUE(Allocate("memory-gib", {"memory-gib-7"}, &answer_).ok());
  kubelet_->AddPod("holdfast.dev/session", "session-0");
  StartPlugin();
  EXPECT_EQ(plugin_->tenants(), 2u);
  ASSERT_TRUE(plugin_->Step(absl::Now() + absl::Hours(1)).ok());
  EXPECT_EQ(Tenants(), "pod-session-0 ");
}

TEST_F(NodePluginTest, ATenantThatDoesNotEndIsTriedAgain) {
  ASSERT_TRUE(Allocate("session", {"session-0"}, &answer_).ok());
  Touch("stuck");
  ASSERT_TRUE(plugin_->Step(now_ + absl::Hours(1)).ok());
  EXPECT_EQ(plugin_->tenants(), 1u);
  // Nor does another pod get the device with what the first still holds.
  EXPECT_EQ(Allocate("session", {"session-0"}, &answer_).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  fs::remove(directory_ + "/stuck");
  ASSERT_TRUE(plugin_->Step(now_ + absl::Hours(1)).ok());
  EXPECT_EQ(Tenants(), "");
}

TEST_F(NodePluginTest, ARequestThatTheDaemonRefusesIsRefused) {
  Touch("full");
  const grpc::Status status = Allocate("session", {"session-0"}, &answer_);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(status.error_message().find("resource exhausted"),
            std::string::npos);
  EXPECT_EQ(Allocate("session", {}, &answer_).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(plugin_->tenants(), 0u);
}

}  // namespace
}  // namespace holdfast::kubernetes
