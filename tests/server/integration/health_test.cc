// SPDX-License-Identifier: Apache-2.0
//
// Devices that fail under the real daemon, and what it says of them. The
// software driver fails as a file of the test tells it to.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "holdfast/v1/devices.grpc.pb.h"
#include "tests/server/integration/daemon_fixture.h"

namespace holdfast {
namespace {

using Health = v1::DeviceHealth;

class HealthTest : public testing::Test {
 protected:
  HealthTest() {
    close(mkstemp(defects_.data()));
    chmod(defects_.c_str(), 0644);
    setenv("HOLDFAST_SOFTWARE_DEFECTS", defects_.c_str(), 1);
  }
  ~HealthTest() override {
    unsetenv("HOLDFAST_SOFTWARE_DEFECTS");
    unlink(defects_.c_str());
  }

  void SetDefects(const std::string& text) {
    std::ofstream(defects_, std::ios::trunc) << text;
  }

  void Start(std::vector<std::string> flags) {
    daemon_ = std::make_unique<DaemonProcess>(std::move(flags));
    unix_ = daemon_->Unix();
  }

  Health Of(int device) {
    grpc::ClientContext context;
    v1::ListDevicesResponse list;
    const grpc::Status status =
        v1::DeviceService::NewStub(unix_)->ListDevices(&context, {}, &list);
    EXPECT_TRUE(status.ok()) << Text(status);
    return list.devices(device).health();
  }

  Health Await(int device, Health::State state) {
    Health health = Of(device);
    for (; health.state() != state; health = Of(device)) usleep(10'000);
    return health;
  }

  grpc::Status Open(const std::vector<uint32_t>& devices,
                    v1::OpenSessionResponse* response) {
    grpc::ClientContext context;
    v1::OpenSessionRequest request;
    request.set_protocol_version(1);
    request.mutable_devices()->Add(devices.begin(), devices.end());
    return v1::SessionService::NewStub(unix_)->OpenSession(&context, request,
                                                           response);
  }

  std::string defects_ = "/tmp/holdfast-defects-XXXXXX";
  std::unique_ptr<DaemonProcess> daemon_;
  ChannelPtr unix_;
};

TEST_F(HealthTest, DeviceIsReadyOnceAKernelHasRun) {
  Start({"--software-devices=2"});
  for (const int device : {0, 1}) {
    const Health health = Await(device, Health::STATE_READY);
    EXPECT_EQ(health.probes(), 1u);
    EXPECT_EQ(HealthOf(unix_, absl::StrCat("holdfast.device.", device)),
              kServing);
  }
  EXPECT_EQ(HealthOf(unix_, ""), kServing);
}

TEST_F(HealthTest, FailingDeviceIsRefusedWithTheReasonAndOthersServe) {
  SetDefects("1 fault\n");
  Start({"--software-devices=2"});
  const Health health = Await(1, Health::STATE_QUARANTINED);
  EXPECT_TRUE(absl::StrContains(health.reason(), "ECC_UNCORRECTABLE"))
      << health.reason();
  Await(0, Health::STATE_READY);
  EXPECT_EQ(HealthOf(unix_, "holdfast.device.1"), kNotServing);
  EXPECT_EQ(HealthOf(unix_, ""), kServing);

  v1::OpenSessionResponse response;
  const grpc::Status refused = Open({1}, &response);
  EXPECT_EQ(refused.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(absl::StrContains(refused.error_message(), "device 1"))
      << Text(refused);
  EXPECT_TRUE(absl::StrContains(refused.error_message(), "ECC_UNCORRECTABLE"))
      << Text(refused);
  const grpc::Status all = Open({}, &response);
  EXPECT_TRUE(all.ok()) << Text(all);
  ASSERT_EQ(response.devices_size(), 1);
  EXPECT_EQ(response.devices(0), 0u);
}

TEST_F(HealthTest, DeviceThatIsGoneComesBackByItself) {
  SetDefects("1 gone\n");
  Start({"--software-devices=2"});
  Await(1, Health::STATE_QUARANTINED);
  SetDefects("");
  const Health health = Await(1, Health::STATE_READY);
  EXPECT_GE(health.failed_probes(), 1u);
  v1::OpenSessionResponse response;
  const grpc::Status status = Open({1}, &response);
  EXPECT_TRUE(status.ok()) << Text(status);
}

TEST_F(HealthTest, HangingDeviceIsFoundOutAndTheDaemonStopsAllTheSame) {
  SetDefects("0 hang\n");
  Start({"--probe-timeout=2s"});
  const Health health = Await(0, Health::STATE_QUARANTINED);
  EXPECT_TRUE(absl::StrContains(health.reason(), "within 2s"))
      << health.reason();
  EXPECT_EQ(HealthOf(unix_, ""), kNotServing);
  v1::OpenSessionResponse response;
  EXPECT_EQ(Open({}, &response).error_code(), StatusCode::UNAVAILABLE);
  kill(daemon_->pid(), SIGTERM);
  EXPECT_EQ(daemon_->Wait(), 0);
}

// NVML is the tests' fake, which the process finds as the loader finds the real
// one.
TEST_F(HealthTest, TelemetryOfNvmlIsShownBesideTheHealth) {
  Start({});
  grpc::ClientContext first, second;
  v1::ListDevicesResponse list;
  const auto devices = v1::DeviceService::NewStub(unix_);
  ASSERT_TRUE(devices->ListDevices(&first, {}, &list).ok());
  EXPECT_FALSE(list.devices(0).has_telemetry());
  const std::string hex = absl::BytesToHexString(list.devices(0).uuid());
  setenv("HOLDFAST_SOFTWARE_FAKE_NVML_UUID", absl::StrCat("GPU-", hex).c_str(),
         1);
  const std::string library =
      std::filesystem::canonical(getenv("FAKE_NVML")).parent_path().string();
  setenv("LD_LIBRARY_PATH", library.c_str(), 1);
  Start({"--telemetry=on"});
  do {
    grpc::ClientContext context;
    ASSERT_TRUE(v1::DeviceService::NewStub(unix_)
                    ->ListDevices(&context, {}, &list)
                    .ok());
  } while (!list.devices(0).telemetry().has_last_xid());
  EXPECT_EQ(list.devices(0).telemetry().temperature(), 55u);
  EXPECT_EQ(list.devices(0).telemetry().last_xid(), 79u);
  // Operators see all processes of a device, others those of their sessions.
  EXPECT_EQ(list.devices(0).telemetry().processes_size(), 2);
  grpc::ClientContext others;
  ASSERT_TRUE(v1::DeviceService::NewStub(daemon_->Tcp())
                  ->ListDevices(&others, {}, &list)
                  .ok());
  EXPECT_EQ(list.devices(0).telemetry().temperature(), 55u);
  EXPECT_EQ(list.devices(0).telemetry().processes_size(), 0);
  unsetenv("LD_LIBRARY_PATH");
}

TEST_F(HealthTest, DeviceThatBreaksIsFoundOutAfterAnExecutorHasDied) {
  Start({"--probe-interval=0"});
  Await(0, Health::STATE_READY);
  TestSession session(unix_);
  SetDefects("0 fault\n");
  grpc::ClientContext context;
  v1::ListSessionsResponse list;
  ASSERT_TRUE(v1::SessionService::NewStub(unix_)
                  ->ListSessions(&context, {}, &list)
                  .ok());
  kill(static_cast<pid_t>(list.sessions(0).executor_pid()), SIGKILL);
  Await(0, Health::STATE_QUARANTINED);
  SetDefects("");
  Await(0, Health::STATE_READY);
}

}  // namespace
}  // namespace holdfast
