// SPDX-License-Identifier: Apache-2.0
//
// The use of NVML's answers: those of a fake library, since CI has no GPU.
#include "server/health/nvml_telemetry.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

namespace holdfast {
namespace {

TEST(NvmlTelemetryTest, TellsWhatTheDeviceTellsAndNothingElse) {
  auto api = nvml::LoadNvml(std::getenv("FAKE_NVML"));
  ASSERT_TRUE(api.ok()) << api.status();
  const auto nvml = NvmlTelemetry::Create(*std::move(api));
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  const v1::ListDevicesResponse list = (*nvml)->Read();
  ASSERT_EQ(list.devices_size(), 1);
  EXPECT_EQ(list.devices(0).uuid().size(), 16u);
  EXPECT_EQ(list.devices(0).uuid()[15], 15);
  const v1::DeviceTelemetry& telemetry = list.devices(0).telemetry();
  EXPECT_EQ(telemetry.memory_used(), 400u);
  EXPECT_EQ(telemetry.gpu_utilization(), 73u);
  EXPECT_EQ(telemetry.memory_utilization(), 21u);
  EXPECT_EQ(telemetry.temperature(), 55u);
  EXPECT_EQ(telemetry.sm_clock(), 1980u);
  EXPECT_EQ(telemetry.memory_clock(), 2619u);
  EXPECT_FALSE(telemetry.has_power());
  EXPECT_EQ(telemetry.ecc_corrected(), 5u);
  EXPECT_EQ(telemetry.ecc_uncorrected(), 1u);
  EXPECT_FALSE(telemetry.has_last_xid());
  ASSERT_EQ(telemetry.processes_size(), 2);
  EXPECT_EQ(telemetry.processes(0).pid(), 4711);
  EXPECT_EQ(telemetry.processes(0).memory(), 123u);
  EXPECT_EQ(telemetry.processes(1).memory(), 0u);
}

TEST(NvmlTelemetryTest, XidErrorIsToldFromThenOn) {
  auto api = nvml::LoadNvml(std::getenv("FAKE_NVML"));
  ASSERT_TRUE(api.ok()) << api.status();
  const auto nvml = NvmlTelemetry::Create(*std::move(api));
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  (*nvml)->AwaitEvent(absl::Seconds(60));
  const v1::ListDevicesResponse list = (*nvml)->Read();
  EXPECT_EQ(list.devices(0).telemetry().last_xid(), 79u);
  EXPECT_GT(list.devices(0).telemetry().last_xid_time().seconds(), 0);
}

TEST(NvmlTelemetryTest, LibraryThatIsNotThereOrIsAnotherIsNamed) {
  const auto absent = nvml::LoadNvml("libholdfast-no-such.so");
  EXPECT_TRUE(absl::IsUnavailable(absent.status())) << absent.status();
  const auto other = nvml::LoadNvml("libc.so.6");
  ASSERT_TRUE(absl::IsUnavailable(other.status())) << other.status();
  EXPECT_NE(other.status().message().find("nvmlInit_v2"), std::string::npos);
}

TEST(NvmlTelemetryTest, UuidThatIsNoneIsEmpty) {
  EXPECT_EQ(BytesOfUuid("GPU-00010203-0405-0607-0809-0a0b0c0d0e0f").size(),
            16u);
  for (const char* text : {"", "GPU-", "GPU-0001", "MIG-00010203",
                           "GPU-00010203-0405-0607-0809-0a0b0c0d0e0x"}) {
    EXPECT_EQ(BytesOfUuid(text), "") << text;
  }
}

}  // namespace
}  // namespace holdfast
