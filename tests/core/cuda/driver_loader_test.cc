// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/driver_loader.h"

#include <stdlib.h>

#include <cstring>
#include <string>

#include "core/cuda/device.h"
#include "tests/testing/software_driver.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::cuda {
namespace {

using holdfast::testing::SoftwareDriver;
using holdfast::testing::StatusIs;

TEST(DriverChoiceTest, KnowsThreeWords) {
  EXPECT_EQ(*ParseDriverChoice("auto"), DriverChoice::kAuto);
  EXPECT_EQ(*ParseDriverChoice("cuda"), DriverChoice::kCuda);
  EXPECT_EQ(*ParseDriverChoice("cpu"), DriverChoice::kSoftware);
  EXPECT_THAT(ParseDriverChoice("tpu"),
              StatusIs(absl::StatusCode::kInvalidArgument, "\"tpu\""));
}

TEST(DriverLoaderTest, AnAbsentDriverListsWhatWasTried) {
  DriverOptions options;
  options.cuda_library = "libno_such_cuda.so.1";
  options.software_driver_path = "/nonexistent/libsoftware.so";
  const auto driver = LoadDriver(options);
  EXPECT_THAT(driver,
              StatusIs(absl::StatusCode::kUnavailable, "libno_such_cuda.so.1"));
  EXPECT_THAT(driver, StatusIs(absl::StatusCode::kUnavailable,
                               "/nonexistent/libsoftware.so"));
  EXPECT_THAT(driver,
              StatusIs(absl::StatusCode::kUnavailable, "package holdfast-cpu"));
}

TEST(DriverLoaderTest, CudaAloneNeverFallsBack) {
  DriverOptions options;
  options.choice = DriverChoice::kCuda;
  options.cuda_library = "libno_such_cuda.so.1";
  EXPECT_THAT(LoadDriver(options),
              StatusIs(absl::StatusCode::kUnavailable, "libno_such_cuda"));
}

TEST(DriverLoaderTest, ALibraryThatIsNoDriverIsRefused) {
  DriverOptions options;
  options.choice = DriverChoice::kCuda;
  options.cuda_library = "libm.so.6";
  EXPECT_THAT(LoadDriver(options),
              StatusIs(absl::StatusCode::kUnavailable, "cuGetProcAddress_v2"));
}

TEST(DriverLoaderTest, AutoFallsBackToTheSoftwareDriver) {
  DriverOptions options;
  options.cuda_library = "libno_such_cuda.so.1";
  ASSERT_OK_AND_ASSIGN(const auto driver, LoadDriver(options));
  EXPECT_TRUE(driver->software);
  EXPECT_GE(driver->device_count, 1);
  EXPECT_GE(driver->api.version, 12000);
  EXPECT_NE(driver->path.find("libholdfast_software.so"), std::string::npos);
}

// A driver that lacks a required call is refused with the version that has it.
decltype(&::cuGetProcAddress) g_real_look_up = nullptr;

CUresult LookUpWithoutMemCreate(const char* name, void** address, int version,
                                cuuint64_t flags,
                                CUdriverProcAddressQueryResult* status) {
  if (std::strcmp(name, "cuMemCreate") == 0 ||
      std::strcmp(name, "cuGraphLaunch") == 0) {
    *address = nullptr;
    return CUDA_ERROR_NOT_FOUND;
  }
  return g_real_look_up(name, address, version, flags, status);
}

CUresult LookUpWithoutGetErrorString(const char* name, void** address,
                                     int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult* status) {
  if (std::strcmp(name, "cuGetErrorString") == 0) {
    *address = nullptr;
    return CUDA_ERROR_NOT_FOUND;
  }
  return g_real_look_up(name, address, version, flags, status);
}

CUresult FindNothing(const char*, void** address, int, cuuint64_t,
                     CUdriverProcAddressQueryResult*) {
  *address = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

// Everything is there, and is the same harmless function.
CUresult FindAnything(const char*, void** address, int, cuuint64_t,
                      CUdriverProcAddressQueryResult*) {
  *address = reinterpret_cast<void*>(+[] { return CUDA_SUCCESS; });
  return CUDA_SUCCESS;
}

TEST(DriverApiTest, MissingRequiredCallsAreNamed) {
  g_real_look_up = &FindAnything;
  const auto api = DriverApi::Resolve(&LookUpWithoutMemCreate);
  EXPECT_THAT(api,
              StatusIs(absl::StatusCode::kUnimplemented, "lacks cuMemCreate;"));
  EXPECT_THAT(DriverApi::Resolve(&FindNothing),
              StatusIs(absl::StatusCode::kUnimplemented, "cuInit"));
}

TEST(DriverApiTest, MissingOptionalCallsAreNull) {
  g_real_look_up = &FindAnything;
  ASSERT_OK_AND_ASSIGN(const DriverApi api,
                       DriverApi::Resolve(&LookUpWithoutGetErrorString));
  EXPECT_EQ(api.cuGetErrorString, nullptr);
  EXPECT_NE(api.cuGetErrorName, nullptr);
}

TEST(DeviceTest, AnUnknownOrdinalSaysHowManyThereAre) {
  const DriverApi& api = SoftwareDriver().api;
  EXPECT_THAT(Device::Get(api, int64_t{1} << 32),
              StatusIs(absl::StatusCode::kNotFound, "device 4294967296"));
  EXPECT_THAT(Device::Get(api, -1),
              StatusIs(absl::StatusCode::kNotFound, "the driver has"));
}

TEST(DeviceTest, DescriptionHasEveryAttributeByName) {
  ASSERT_OK_AND_ASSIGN(const Device device,
                       Device::Get(SoftwareDriver().api, 0));
  ASSERT_OK_AND_ASSIGN(const DeviceDescription description, device.Describe());
  EXPECT_FALSE(description.name.empty());
  EXPECT_FALSE(description.pci_bus_id.empty());
  EXPECT_GT(description.total_memory, 0u);
  EXPECT_EQ(description.compute_capability_major, 9);
  EXPECT_GE(description.attributes.size(), 140u);
  int warp_size = 0;
  for (const auto& [name, value] : description.attributes) {
    if (name == "warp_size") warp_size = value;
  }
  EXPECT_EQ(warp_size, 32);
}

}  // namespace
}  // namespace holdfast::cuda
