// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/device_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/holdings/assigned_devices.h"
#include "server/memory/device_memory.h"
#include "server/supervisor/session_place.h"

namespace holdfast::supervisor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Devices 0 to 2 with UUIDs a0..., a1... and b2..., of which 1 has most free
// memory.
v1::ListDevicesResponse Devices() {
  v1::ListDevicesResponse list;
  const char first[] = {'\xa0', '\xa1', '\xb2'};
  const uint64_t free[] = {10, 30, 20};
  for (uint32_t i = 0; i < 3; ++i) {
    v1::Device& device = *list.add_devices();
    device.set_ordinal(i);
    device.set_uuid(first[i] + std::string(15, '\0'));
    device.set_total_memory(100);
    device.set_free_memory(free[i]);
  }
  return list;
}

v1::OpenSessionRequest Ordinals(std::initializer_list<uint32_t> ordinals) {
  v1::OpenSessionRequest request;
  for (const uint32_t ordinal : ordinals) request.add_devices(ordinal);
  return request;
}

v1::OpenSessionRequest Choices(std::initializer_list<const char*> choices) {
  v1::OpenSessionRequest request;
  for (const char* choice : choices) request.add_device_choices(choice);
  return request;
}

TEST(DeviceChoiceTest, NoneMeansAllAndOrderIsKept) {
  EXPECT_THAT(*ChooseDevices({}, Devices()), ElementsAre(0, 1, 2));
  EXPECT_THAT(*ChooseDevices(Ordinals({2, 0}), Devices()), ElementsAre(2, 0));
}

TEST(DeviceChoiceTest, OneThatDoesNotExistIsRefusedWithTheirNumber) {
  const auto status = ChooseDevices(Ordinals({0, 7}), Devices()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("device 7 does not exist: the daemon serves 3 devices, "
                        "numbered 0 to 2"));
}

TEST(DeviceChoiceTest, ATenantHasItsOwnDevicesUnderTheirOrdinals) {
  const auto devices = DevicesOfTenant(Devices(), {2, 1});
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_THAT(*ChooseDevices({}, *devices), ElementsAre(1, 2));
  EXPECT_THAT(*ChooseDevices(Choices({"most-free"}), *devices), ElementsAre(1));
  const auto status = ChooseDevices(Ordinals({0}), *devices).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("may use: 1, 2"));
  EXPECT_EQ(DevicesOfTenant(Devices(), {})->devices_size(), 3);
  EXPECT_EQ(DevicesOfTenant(Devices(), {7}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(DeviceChoiceTest, OneThatIsNamedTwiceIsRefused) {
  for (const auto& request : {Ordinals({1, 0, 1}), Choices({"1", "GPU-a1"})}) {
    const auto status = ChooseDevices(request, Devices()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("device 1"));
  }
}

TEST(DeviceChoiceTest, WordsAreOrdinalsUuidsAndMostFree) {
  EXPECT_THAT(*ChooseDevices(Choices({"2"}), Devices()), ElementsAre(2));
  EXPECT_THAT(
      *ChooseDevices(Choices({"GPU-B2000000-0000", "MIG-a0"}), Devices()),
      ElementsAre(2, 0));
  EXPECT_THAT(*ChooseDevices(Choices({"most-free", "most-free"}), Devices()),
              ElementsAre(1, 2));
}

TEST(DeviceChoiceTest, WordsThatNameNoneAreRefused) {
  const auto code = [](std::initializer_list<const char*> choices) {
    return ChooseDevices(Choices(choices), Devices()).status().code();
  };
  EXPECT_EQ(code({"GPU-a"}), absl::StatusCode::kInvalidArgument);  // two
  EXPECT_EQ(code({"GPU-c"}), absl::StatusCode::kNotFound);
  EXPECT_EQ(code({"best"}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({"-1"}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({""}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({"most-free", "most-free", "most-free", "most-free"}),
            absl::StatusCode::kNotFound);
}

TEST(DeviceMemoryTest, FreeIsWhatWasFoundLessWhatWasTakenSince) {
  DeviceMemory memory;
  memory.NoteTaken(0, 10);
  EXPECT_FALSE(memory.Free(0).has_value());
  memory.NoteMeasured(0, 60, 100);  // others hold 30
  EXPECT_EQ(memory.Free(0), 60u);
  memory.NoteTaken(0, 20);
  EXPECT_EQ(memory.Free(0), 40u);
  memory.NoteReturned(0, 30);
  EXPECT_EQ(memory.Free(0), 70u);
  memory.NoteTaken(0, 500);
  EXPECT_EQ(memory.Free(0), 0u);
}

v1::ListDevicesResponse WithQuarantined(std::initializer_list<int> ordinals) {
  v1::ListDevicesResponse list = Devices();
  for (const int ordinal : ordinals) {
    v1::DeviceHealth& health = *list.mutable_devices(ordinal)->mutable_health();
    health.set_state(v1::DeviceHealth::STATE_QUARANTINED);
    health.set_reason("its kernel hung");
  }
  return list;
}

TEST(DeviceChoiceTest, QuarantinedDeviceIsRefusedByNameWithTheReason) {
  for (const auto& request : {Ordinals({0, 1}), Choices({"GPU-a1"})}) {
    const auto status = ChooseDevices(request, WithQuarantined({1})).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("device 1 is quarantined until a probe of it passes: "
                          "its kernel hung"));
  }
}

TEST(DeviceChoiceTest, UnnamedDevicesAreThoseThatWork) {
  EXPECT_THAT(*ChooseDevices({}, WithQuarantined({1})), ElementsAre(0, 2));
  EXPECT_THAT(*ChooseDevices(Choices({"most-free"}), WithQuarantined({1})),
              ElementsAre(2));
  EXPECT_EQ(ChooseDevices({}, WithQuarantined({0, 1, 2})).status().code(),
            absl::StatusCode::kUnavailable);
}

void ExpectRefused(const absl::Status& status, absl::StatusCode code,
                   const std::string& text) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(text));
}

TEST(SessionPlaceTest, ASessionStaysOnItsDeviceIfThatWorks) {
  EXPECT_THAT(*FindPlaces({.named = 0, .now = 0}, Devices(), {}),
              ElementsAre(0, 1, 2));
  EXPECT_THAT(*FindPlaces({.named = 0, .now = 2}, Devices(), {}),
              ElementsAre(2, 1, 0));
}

TEST(SessionPlaceTest, ADeviceInQuarantineIsTheLastToTry) {
  EXPECT_THAT(*FindPlaces({.named = 0, .now = 0}, WithQuarantined({0, 2}), {}),
              ElementsAre(1, 0));
  EXPECT_THAT(
      *FindPlaces({.named = 0, .now = 0}, WithQuarantined({0, 1, 2}), {}),
      ElementsAre(0));
}

TEST(SessionPlaceTest, OnlyDevicesOfTheSameKindWillDo) {
  v1::ListDevicesResponse smaller = Devices();
  smaller.mutable_devices(1)->set_total_memory(99);
  v1::ListDevicesResponse other_name = Devices();
  other_name.mutable_devices(1)->set_name("another");
  v1::ListDevicesResponse newer = Devices();
  newer.mutable_devices(1)->set_compute_capability_minor(1);
  for (const auto& devices : {smaller, other_name, newer}) {
    EXPECT_THAT(*FindPlaces({.named = 0, .now = 0}, devices, {}),
                ElementsAre(0, 2));
    ExpectRefused(
        FindPlaces({.named = 0, .now = 0, .wanted = 1}, devices, {}).status(),
        absl::StatusCode::kFailedPrecondition, "not of the same kind");
  }
  // The kind is that of the device that its client has asked for.
  v1::ListDevicesResponse larger = Devices();
  larger.mutable_devices(1)->set_total_memory(101);
  EXPECT_THAT(*FindPlaces({.named = 0, .now = 1}, larger, {}),
              ElementsAre(1, 2, 0));
}

TEST(SessionPlaceTest, ATenantsSessionGoesOnlyWhereTheTenantMayBe) {
  EXPECT_THAT(*FindPlaces({.named = 0, .now = 0}, Devices(), {0, 2}),
              ElementsAre(0, 2));
  // The policy has changed: it stays where it is.
  EXPECT_THAT(*FindPlaces({.named = 0, .now = 0}, Devices(), {7}),
              ElementsAre(0));
  ExpectRefused(
      FindPlaces({.named = 0, .now = 0, .wanted = 1}, Devices(), {0, 2})
          .status(),
      absl::StatusCode::kNotFound, "may use: 0, 2");
}

TEST(SessionPlaceTest, TheDeviceThatIsAskedForIsTheOnlyPlace) {
  EXPECT_THAT(*FindPlaces({.named = 0, .now = 0, .wanted = 2}, Devices(), {}),
              ElementsAre(2));
  ExpectRefused(
      FindPlaces({.named = 0, .now = 0, .wanted = 7}, Devices(), {}).status(),
      absl::StatusCode::kNotFound, "device 7 does not exist");
  ExpectRefused(
      FindPlaces({.named = 0, .now = 0, .wanted = 1}, WithQuarantined({1}), {})
          .status(),
      absl::StatusCode::kUnavailable, "its kernel hung");
}

TEST(SessionPlaceTest, OneWithSeveralDevicesOrAnMpsServerCannotBeMoved) {
  internal::Assign assign;
  assign.set_session_id("s-7");
  assign.add_devices(0);
  Tenant::Options options;
  options.name = "team";
  EXPECT_TRUE(CheckMovable(assign, Tenant(options)).ok());
  options.concurrency.group = "inference";
  ExpectRefused(CheckMovable(assign, Tenant(options)),
                absl::StatusCode::kFailedPrecondition,
                "tenant team, which shares an MPS server (group inference)");
  options.concurrency = {};
  assign.add_devices(2);
  ExpectRefused(CheckMovable(assign, Tenant(options)),
                absl::StatusCode::kFailedPrecondition,
                "session s-7 has 2 devices (0, 2)");
  EXPECT_THAT(DevicesOf(assign), ElementsAre(0, 2));
}

TEST(SessionPlaceTest, ASessionIsWhereItWasPutAndKeepsItsName) {
  internal::Assign assign;
  assign.add_devices(2);
  EXPECT_THAT(DevicesOf(assign), ElementsAre(2));
  SetDevice(0, &assign);
  EXPECT_THAT(DevicesOf(assign), ElementsAre(0));
  EXPECT_THAT(assign.devices(), ElementsAre(2));
  SetDevice(2, &assign);
  EXPECT_THAT(DevicesOf(assign), ElementsAre(2));
  EXPECT_FALSE(assign.has_moved_to());
}

}  // namespace
}  // namespace holdfast::supervisor
