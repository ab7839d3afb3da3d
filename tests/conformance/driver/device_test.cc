// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <thread>

#include "tests/conformance/driver/api.h"

namespace holdfast::conformance {
namespace {

class DeviceTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(Cuda().cuInit(0)); }
};

TEST(ErrorTest, NamesAndTextsExistForKnownCodesOnly) {
  const char* text = nullptr;
  EXPECT_OK(Cuda().cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_OK(Cuda().cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  EXPECT_GT(std::string(text).size(), 5u);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuGetErrorName(static_cast<CUresult>(12345), &text));
  EXPECT_EQ(text, nullptr);
}

TEST(ProcAddressTest, AnswersByNameAndVersion) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status;
  const auto ask = [&](const char* name, int version) {
    return Cuda().get_proc_address(name, &function, version, 0, &status);
  };
  EXPECT_OK(ask("cuMemAlloc", 13000));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
  EXPECT_NE(function, nullptr);
  EXPECT_OK(ask("cuNoSuchFunction", 13000));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(function, nullptr);
  EXPECT_OK(ask("cuLibraryLoadData", 11000));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(function, nullptr);
}

TEST(ProcAddressTest, MissingNameIsANullPointerAndNoError) {
  void* function = &function;
  EXPECT_OK(Cuda().get_proc_address("cuNoSuchFunction", &function, 13000, 0,
                                    nullptr));
  EXPECT_EQ(function, nullptr);
}

TEST(ProcAddressTest, AVersionNewerThanTheDriversIsRefused) {
  int version = 0;
  ASSERT_OK(Cuda().cuDriverGetVersion(&version));
  void* function = nullptr;
  EXPECT_OK(Cuda().get_proc_address("cuInit", &function, version, 0, nullptr));
  EXPECT_CUDA(
      CUDA_ERROR_INVALID_VALUE,
      Cuda().get_proc_address("cuInit", &function, version + 10, 0, nullptr));
}

TEST(ProcAddressTest, OneNameHasOneAbiAVersion) {
  void* old = nullptr;
  void* current = nullptr;
  ASSERT_OK(
      Cuda().get_proc_address("cuCtxSynchronize", &old, 12000, 0, nullptr));
  ASSERT_OK(
      Cuda().get_proc_address("cuCtxSynchronize", &current, 13000, 0, nullptr));
  EXPECT_NE(old, current);
}

TEST_F(DeviceTest, ReportsAtLeastCuda13) {
  int version = 0;
  EXPECT_OK(Cuda().cuDriverGetVersion(&version));
  EXPECT_GE(version, 13000);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuDriverGetVersion(nullptr));
}

TEST_F(DeviceTest, OrdinalsBeyondTheCountAreRefused) {
  int count = 0;
  ASSERT_OK(Cuda().cuDeviceGetCount(&count));
  ASSERT_GE(count, 1);
  CUdevice device;
  EXPECT_OK(Cuda().cuDeviceGet(&device, count - 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_DEVICE, Cuda().cuDeviceGet(&device, count));
  EXPECT_CUDA(CUDA_ERROR_INVALID_DEVICE, Cuda().cuDeviceGet(&device, -1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuDeviceGet(nullptr, 0));
}

TEST_F(DeviceTest, NameIsCutToTheBuffer) {
  char name[200] = {};
  EXPECT_OK(Cuda().cuDeviceGetName(name, sizeof(name), 0));
  char part[4];
  EXPECT_OK(Cuda().cuDeviceGetName(part, sizeof(part), 0));
  EXPECT_EQ(std::string(name).substr(0, 3), part);
}

TEST_F(DeviceTest, UuidAndBusIdIdentifyTheDevice) {
  CUuuid first{}, second{};
  EXPECT_OK(Cuda().cuDeviceGetUuid_v2(&first, 0));
  EXPECT_OK(Cuda().cuDeviceGetUuid_v2(&second, 0));
  EXPECT_EQ(std::string(first.bytes, 16), std::string(second.bytes, 16));
  char id[32];
  ASSERT_OK(Cuda().cuDeviceGetPCIBusId(id, sizeof(id), 0));
  CUdevice found = -1;
  EXPECT_OK(Cuda().cuDeviceGetByPCIBusId(&found, id));
  EXPECT_EQ(found, 0);
}

TEST_F(DeviceTest, AttributesAreThoseOfACudaDevice) {
  EXPECT_EQ(Attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
  EXPECT_EQ(Attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
  EXPECT_EQ(Attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z), 64);
  EXPECT_EQ(Attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X), 0x7fffffff);
  EXPECT_EQ(Attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK), 49152);
  EXPECT_GE(Attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 1);
  EXPECT_GE(Attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 7);
  EXPECT_EQ(Attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING), 1);
}

TEST_F(DeviceTest, EveryAttributeHasAValueAndOthersDoNot) {
  int value;
  for (int i = 1; i < CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED; ++i) {
    if (i == 44 || (i >= 92 && i <= 94)) continue;  // withdrawn
    EXPECT_OK(Cuda().cuDeviceGetAttribute(
        &value, static_cast<CUdevice_attribute>(i), 0));
  }
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuDeviceGetAttribute(
                  &value, static_cast<CUdevice_attribute>(100000), 0));
}

TEST_F(DeviceTest, RetainedPrimaryContextIsActiveUntilReleased) {
  CUcontext first, second;
  ASSERT_OK(Cuda().cuDevicePrimaryCtxRetain(&first, 0));
  ASSERT_OK(Cuda().cuDevicePrimaryCtxRetain(&second, 0));
  EXPECT_EQ(first, second);
  unsigned flags;
  int active = 0;
  ASSERT_OK(Cuda().cuDevicePrimaryCtxRelease_v2(0));
  EXPECT_OK(Cuda().cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 1);
  ASSERT_OK(Cuda().cuDevicePrimaryCtxRelease_v2(0));
  EXPECT_OK(Cuda().cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 0);
}

TEST_F(DeviceTest, CurrentContextIsAStackOfTheThread) {
  CUcontext primary;
  ASSERT_OK(Cuda().cuDevicePrimaryCtxRetain(&primary, 0));
  ASSERT_OK(Cuda().cuCtxSetCurrent(nullptr));
  CUcontext current = primary;
  EXPECT_OK(Cuda().cuCtxGetCurrent(&current));
  EXPECT_EQ(current, nullptr);
  ASSERT_OK(Cuda().cuCtxPushCurrent_v2(primary));
  std::thread([&] {
    EXPECT_OK(Cuda().cuCtxGetCurrent(&current));
    EXPECT_EQ(current, nullptr);
  }).join();
  EXPECT_OK(Cuda().cuCtxGetCurrent(&current));
  EXPECT_EQ(current, primary);
  EXPECT_OK(Cuda().cuCtxPopCurrent_v2(&current));
  EXPECT_EQ(current, primary);
  EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, Cuda().cuCtxPopCurrent_v2(&current));
  EXPECT_OK(Cuda().cuDevicePrimaryCtxRelease_v2(0));
}

TEST_F(DeviceTest, WithoutAContextThereIsNoMemory) {
  ASSERT_OK(Cuda().cuCtxSetCurrent(nullptr));
  CUdeviceptr pointer;
  EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, Cuda().cuMemAlloc_v2(&pointer, 64));
}

TEST_F(DeviceTest, CreatedContextBecomesCurrentAndLeavesWithItsEnd) {
  ASSERT_OK(Cuda().cuCtxSetCurrent(nullptr));
  CUcontext made = nullptr;
  ASSERT_OK(Cuda().cuCtxCreate_v4(&made, nullptr, 0, 0));
  CUcontext current = nullptr;
  EXPECT_OK(Cuda().cuCtxGetCurrent(&current));
  EXPECT_EQ(current, made);
  CUdevice device = -1;
  EXPECT_OK(Cuda().cuCtxGetDevice_v2(&device, made));
  EXPECT_EQ(device, 0);
  EXPECT_OK(Cuda().cuCtxDestroy_v2(made));
  EXPECT_OK(Cuda().cuCtxGetCurrent(&current));
  EXPECT_EQ(current, nullptr);
}

using ContextSettingsTest = ContextTest;

TEST_F(ContextSettingsTest, PriorityRangeGoesDownToTheGreatest) {
  int least = -1, greatest = 1;
  EXPECT_OK(Cuda().cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_LE(greatest, least);
}

TEST_F(ContextSettingsTest, LimitsCanBeReadAndUnknownOnesCannot) {
  size_t value = 0;
  EXPECT_OK(Cuda().cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
  EXPECT_GT(value, 0u);
  EXPECT_OK(Cuda().cuCtxGetLimit(&value, CU_LIMIT_PRINTF_FIFO_SIZE));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuCtxGetLimit(&value, static_cast<CUlimit>(1000)));
}

}  // namespace
}  // namespace holdfast::conformance
