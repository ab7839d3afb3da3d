// SPDX-License-Identifier: Apache-2.0
//
// Which devices a daemon serves, and which of them a session gets: by the
// operator's --devices and the client's choice.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "holdfast/v1/devices.grpc.pb.h"
#include "tests/server/integration/daemon_fixture.h"

namespace holdfast {
namespace {

v1::ListDevicesResponse List(const DaemonProcess& daemon) {
  grpc::ClientContext context;
  v1::ListDevicesResponse list;
  const grpc::Status status = v1::DeviceService::NewStub(daemon.Unix())
                                  ->ListDevices(&context, {}, &list);
  EXPECT_TRUE(status.ok()) << Text(status);
  return list;
}

// The ordinals that a session with these choices gets.
std::vector<uint32_t> Open(const DaemonProcess& daemon,
                           const std::vector<std::string>& choices,
                           grpc::Status* status) {
  v1::OpenSessionRequest request;
  request.set_protocol_version(1);
  for (const std::string& choice : choices) request.add_device_choices(choice);
  grpc::ClientContext context;
  v1::OpenSessionResponse response;
  *status = v1::SessionService::NewStub(daemon.Unix())
                ->OpenSession(&context, request, &response);
  return {response.devices().begin(), response.devices().end()};
}

std::string UuidOf(const v1::Device& device) {
  return "GPU-" + absl::BytesToHexString(device.uuid());
}

TEST(DevicesTest, AllAreListedEachWithItsPeersAndMemory) {
  const DaemonProcess daemon({"--software-devices=3"});
  const v1::ListDevicesResponse list = List(daemon);
  ASSERT_EQ(list.devices_size(), 3);
  EXPECT_NE(list.devices(0).uuid(), list.devices(2).uuid());
  EXPECT_NE(list.devices(0).pci_bus_id(), list.devices(2).pci_bus_id());
  EXPECT_EQ(list.devices(1).peers_size(), 2);
  EXPECT_EQ(list.devices(1).peers(1), 2u);
  for (const v1::Device& device : list.devices()) {
    EXPECT_LT(device.greatest_stream_priority(),
              device.least_stream_priority());
  }
  // An executor has looked at the first only: it has no context elsewhere.
  EXPECT_TRUE(list.devices(0).has_free_memory());
  EXPECT_FALSE(list.devices(1).has_free_memory());
}

TEST(DevicesTest, TheOperatorChoosesByNumberAndByUuid) {
  v1::ListDevicesResponse all;
  {
    const DaemonProcess daemon({"--software-devices=3"});
    all = List(daemon);
  }
  ASSERT_EQ(all.devices_size(), 3);
  const DaemonProcess daemon(
      {"--software-devices=3",
       "--devices=2," + UuidOf(all.devices(0)).substr(0, 12)});
  const v1::ListDevicesResponse list = List(daemon);
  ASSERT_EQ(list.devices_size(), 2);
  EXPECT_EQ(list.devices(0).uuid(), all.devices(2).uuid());
  EXPECT_EQ(list.devices(1).uuid(), all.devices(0).uuid());
}

TEST(DevicesTest, AnOperatorsDeviceThatDoesNotExistIsNamed) {
  const DaemonProcess daemon({"--software-devices=2", "--devices=0,5"});
  grpc::Status status;
  Open(daemon, {}, &status);
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(absl::StrContains(status.error_message(),
                                "--devices names 2, of which the driver shows "
                                "1"))
      << Text(status);
}

TEST(DevicesTest, TheClientChoosesAndOrdinalsThatDoNotExistAreRefused) {
  const DaemonProcess daemon({"--software-devices=3"});
  const v1::ListDevicesResponse list = List(daemon);
  grpc::Status status;
  EXPECT_EQ(Open(daemon, {"2", UuidOf(list.devices(0))}, &status),
            (std::vector<uint32_t>{2, 0}));
  EXPECT_TRUE(status.ok()) << Text(status);
  EXPECT_EQ(Open(daemon, {}, &status), (std::vector<uint32_t>{0, 1, 2}));
  Open(daemon, {"3"}, &status);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_TRUE(absl::StrContains(status.error_message(),
                                "device 3 does not exist: the daemon serves 3"))
      << Text(status);
  Open(daemon, {"1", "1"}, &status);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST(DevicesTest, MostFreeIsTheDeviceWithMostMemory) {
  setenv("HOLDFAST_SOFTWARE_MEMORY", "1G,3G,2G", 1);
  const DaemonProcess daemon({"--software-devices=3"});
  unsetenv("HOLDFAST_SOFTWARE_MEMORY");
  grpc::Status status;
  EXPECT_EQ(Open(daemon, {"most-free"}, &status), std::vector<uint32_t>{1});
  EXPECT_EQ(Open(daemon, {"most-free", "most-free"}, &status),
            (std::vector<uint32_t>{1, 2}));
  EXPECT_TRUE(status.ok()) << Text(status);
}

// A session on one device leaves no executor with a context on another: the
// executor that takes the place of the one that was taken looks at the device
// that was asked for.
TEST(DevicesTest, ExecutorsAreWarmWhereSessionsAskedForThem) {
  const DaemonProcess daemon({"--software-devices=3"});
  EXPECT_FALSE(List(daemon).devices(1).has_free_memory());
  grpc::Status status;
  Open(daemon, {"1"}, &status);
  ASSERT_TRUE(status.ok()) << Text(status);
  EXPECT_TRUE(List(daemon).devices(1).has_free_memory());
  EXPECT_FALSE(List(daemon).devices(2).has_free_memory());
}

}  // namespace
}  // namespace holdfast
