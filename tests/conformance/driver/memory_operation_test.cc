// SPDX-License-Identifier: Apache-2.0
//
// Values in memory that streams wait for; advice; batches of copies; and small
// functions about modules.
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/conformance/driver/api.h"
#include "tests/conformance/driver/kernels.h"

namespace holdfast::conformance {
namespace {

class MemoryOperationTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    ASSERT_OK(Cuda().cuMemAlloc_v2(&memory_, 256));
    ASSERT_OK(Cuda().cuMemsetD8_v2(memory_, 0, 256));
    ASSERT_OK(Cuda().cuStreamCreate(&first_, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(Cuda().cuStreamCreate(&second_, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(Cuda().cuCtxSynchronize_v2(context_));
  }
  void TearDown() override {
    EXPECT_OK(Cuda().cuStreamSynchronize(first_));
    EXPECT_OK(Cuda().cuStreamSynchronize(second_));
    EXPECT_OK(Cuda().cuStreamDestroy_v2(first_));
    EXPECT_OK(Cuda().cuStreamDestroy_v2(second_));
    EXPECT_OK(Cuda().cuMemFree_v2(memory_));
    ContextTest::TearDown();
  }

  CUdeviceptr memory_ = 0;
  CUstream first_ = nullptr;
  CUstream second_ = nullptr;
};

TEST_F(MemoryOperationTest, StreamWaitsForTheOthersValue) {
  ASSERT_OK(Cuda().cuStreamWaitValue32_v2(first_, memory_, 3,
                                          CU_STREAM_WAIT_VALUE_GEQ));
  ASSERT_OK(Cuda().cuMemsetD32Async(memory_ + 64, 77, 1, first_));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, Cuda().cuStreamQuery(first_));
  ASSERT_OK(Cuda().cuStreamWriteValue32_v2(second_, memory_, 2, 0));
  ASSERT_OK(Cuda().cuStreamSynchronize(second_));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, Cuda().cuStreamQuery(first_));
  ASSERT_OK(Cuda().cuStreamWriteValue32_v2(second_, memory_, 3, 0));
  ASSERT_OK(Cuda().cuStreamSynchronize(first_));
  unsigned value = 0;
  ASSERT_OK(Cuda().cuMemcpyDtoH_v2(&value, memory_ + 64, 4));
  EXPECT_EQ(value, 77u);
}

TEST_F(MemoryOperationTest, SixtyFourBitsAndEveryComparison) {
  const unsigned long long wide = 1ull << 40;
  ASSERT_OK(Cuda().cuStreamWriteValue64_v2(first_, memory_, wide, 0));
  ASSERT_OK(Cuda().cuStreamWaitValue64_v2(first_, memory_, wide,
                                          CU_STREAM_WAIT_VALUE_EQ));
  ASSERT_OK(Cuda().cuStreamWaitValue64_v2(first_, memory_, wide | 5,
                                          CU_STREAM_WAIT_VALUE_AND));
  ASSERT_OK(Cuda().cuStreamWaitValue64_v2(first_, memory_, wide - 1,
                                          CU_STREAM_WAIT_VALUE_GEQ));
  EXPECT_OK(Cuda().cuStreamSynchronize(first_));
}

TEST_F(MemoryOperationTest, HostMemoryReleasesAStream) {
  void* host = nullptr;
  ASSERT_OK(Cuda().cuMemHostAlloc(&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
  auto* flag = static_cast<unsigned*>(host);
  *flag = 0;
  CUdeviceptr device = 0;
  ASSERT_OK(Cuda().cuMemHostGetDevicePointer_v2(&device, host, 0));
  ASSERT_OK(Cuda().cuStreamWaitValue32_v2(first_, device, 1,
                                          CU_STREAM_WAIT_VALUE_EQ));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, Cuda().cuStreamQuery(first_));
  std::atomic_ref<unsigned>(*flag).store(1);
  EXPECT_OK(Cuda().cuStreamSynchronize(first_));
  EXPECT_OK(Cuda().cuMemFreeHost(host));
}

TEST_F(MemoryOperationTest, UnknownAddressIsInvalid) {
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuStreamWriteValue32_v2(first_, 16, 1, 0));
}

TEST_F(MemoryOperationTest, BatchOfCopies) {
  std::vector<unsigned> data = {1, 2, 3, 4}, back(4);
  CUdeviceptr to[] = {memory_, memory_ + 8};
  CUdeviceptr from[] = {reinterpret_cast<CUdeviceptr>(&data[0]),
                        reinterpret_cast<CUdeviceptr>(&data[2])};
  size_t sizes[] = {8, 8};
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  size_t first = 0;
  ASSERT_OK(Cuda().cuMemcpyBatchAsync_v2(to, from, sizes, 2, &attributes,
                                         &first, 1, first_));
  ASSERT_OK(Cuda().cuStreamSynchronize(first_));
  ASSERT_OK(Cuda().cuMemcpyDtoH_v2(back.data(), memory_, 16));
  EXPECT_EQ(back, data);
}

TEST_F(MemoryOperationTest, AdviceIsRemembered) {
  if (Attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) == 0) {
    GTEST_SKIP() << "no concurrent managed access";
  }
  CUdeviceptr managed = 0;
  constexpr size_t kSize = 2 << 20;
  ASSERT_OK(Cuda().cuMemAllocManaged(&managed, kSize, CU_MEM_ATTACH_GLOBAL));
  int value = -5;
  const auto get = [&](CUmem_range_attribute attribute) {
    EXPECT_OK(Cuda().cuMemRangeGetAttribute(&value, sizeof(value), attribute,
                                            managed, kSize));
    return value;
  };
  EXPECT_EQ(get(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
  EXPECT_EQ(get(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_INVALID);
  const CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, device_};
  ASSERT_OK(Cuda().cuMemAdvise_v2(managed, kSize, CU_MEM_ADVISE_SET_READ_MOSTLY,
                                  here));
  ASSERT_OK(Cuda().cuMemAdvise_v2(managed, kSize,
                                  CU_MEM_ADVISE_SET_PREFERRED_LOCATION, here));
  ASSERT_OK(Cuda().cuMemPrefetchAsync_v2(managed, kSize, here, 0, first_));
  ASSERT_OK(Cuda().cuStreamSynchronize(first_));
  EXPECT_EQ(get(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 1);
  EXPECT_EQ(get(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), device_);
  EXPECT_EQ(get(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), device_);
  EXPECT_OK(
      Cuda().cuStreamAttachMemAsync(first_, managed, 0, CU_MEM_ATTACH_SINGLE));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuStreamAttachMemAsync(first_, managed, 0, 99));
  EXPECT_OK(Cuda().cuMemFree_v2(managed));
}

TEST_F(MemoryOperationTest, KernelsKnowTheirLibraryAndModule) {
  CUlibrary library = nullptr, owner = nullptr;
  ASSERT_OK(Cuda().cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0,
                                     nullptr, nullptr, 0));
  CUkernel kernel = nullptr;
  ASSERT_OK(Cuda().cuLibraryGetKernel(&kernel, library, "scale"));
  EXPECT_OK(Cuda().cuKernelGetLibrary(&owner, kernel));
  EXPECT_EQ(owner, library);
  CUmodule module = nullptr, of_function = nullptr;
  ASSERT_OK(Cuda().cuLibraryGetModule(&module, library));
  CUfunction function = nullptr;
  ASSERT_OK(Cuda().cuModuleGetFunction(&function, module, "scale"));
  EXPECT_OK(Cuda().cuFuncGetModule(&of_function, function));
  EXPECT_EQ(of_function, module);
  EXPECT_OK(Cuda().cuLibraryUnload(library));
}

TEST_F(MemoryOperationTest, ParameterInfoNeedsAContext) {
  CUlibrary library = nullptr;
  ASSERT_OK(Cuda().cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0,
                                     nullptr, nullptr, 0));
  CUkernel kernel = nullptr;
  ASSERT_OK(Cuda().cuLibraryGetKernel(&kernel, library, "scale"));
  size_t offset = 0, size = 0;
  EXPECT_OK(Cuda().cuKernelGetParamInfo(kernel, 1, &offset, &size));
  ASSERT_OK(Cuda().cuCtxSetCurrent(nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT,
              Cuda().cuKernelGetParamInfo(kernel, 1, &offset, &size));
  ASSERT_OK(Cuda().cuCtxSetCurrent(context_));
  EXPECT_OK(Cuda().cuLibraryUnload(library));
}

}  // namespace
}  // namespace holdfast::conformance
