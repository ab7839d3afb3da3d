// SPDX-License-Identifier: Apache-2.0
//
// Values in memory that streams wait for; advice; batches of copies; and small
// functions about modules.
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
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

// Three pieces of managed memory.
class ManagedBatchTest : public MemoryOperationTest {
 protected:
  static constexpr size_t kSize = 2 << 20;

  void SetUp() override {
    MemoryOperationTest::SetUp();
    if (Attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) == 0) {
      GTEST_SKIP() << "no concurrent managed access";
    }
    for (CUdeviceptr& piece : pieces_) {
      ASSERT_OK(Cuda().cuMemAllocManaged(&piece, kSize, CU_MEM_ATTACH_GLOBAL));
    }
  }
  void TearDown() override {
    for (const CUdeviceptr piece : pieces_) {
      if (piece != 0) EXPECT_OK(Cuda().cuMemFree_v2(piece));
    }
    MemoryOperationTest::TearDown();
  }

  // The last prefetch of each piece.
  std::vector<int> LastPlaces() {
    EXPECT_OK(Cuda().cuStreamSynchronize(first_));
    std::vector<int> places;
    for (const CUdeviceptr piece : pieces_) {
      EXPECT_OK(Cuda().cuMemRangeGetAttribute(
          &places.emplace_back(-5), sizeof(int),
          CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, piece, kSize));
    }
    return places;
  }
  // Prefetches the first `count` pieces to places_, from `starts` on.
  CUresult Prefetch(std::vector<size_t> starts, size_t count = 3,
                    unsigned long long flags = 0) {
    return Cuda().cuMemPrefetchBatchAsync(pieces_, sizes_, count, places_,
                                          starts.data(), starts.size(), flags,
                                          first_);
  }

  CUdeviceptr pieces_[3] = {};
  size_t sizes_[3] = {kSize, kSize, kSize};
  CUmemLocation places_[3] = {{CU_MEM_LOCATION_TYPE_HOST, 0},
                              {CU_MEM_LOCATION_TYPE_DEVICE, device_},
                              {CU_MEM_LOCATION_TYPE_HOST, 0}};
};

TEST_F(ManagedBatchTest, EachPlaceIsForTheRangesUpToTheNext) {
  ASSERT_OK(Prefetch({0, 1}));
  EXPECT_EQ(LastPlaces(), std::vector({int{CU_DEVICE_CPU}, device_, device_}));
  ASSERT_OK(Prefetch({0, 2}));
  EXPECT_EQ(LastPlaces(),
            std::vector({int{CU_DEVICE_CPU}, int{CU_DEVICE_CPU}, device_}));
}

// Whether the good ranges of a bad batch are prefetched differs between
// drivers.
TEST_F(ManagedBatchTest, ABadBatchIsRefused) {
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Prefetch({1, 2}));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Prefetch({0, 3}));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Prefetch({0, 1, 2}, 2));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Prefetch({}));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Prefetch({0}, 3, 1));
  std::swap(pieces_[2], memory_);  // which is no managed memory
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Prefetch({0, 1}));
  std::swap(pieces_[2], memory_);
}

TEST_F(ManagedBatchTest, DiscardedMemoryIsWrittenAndReadAgain) {
  size_t start = 0;
  ASSERT_OK(Cuda().cuMemDiscardBatchAsync(pieces_, sizes_, 3, 0, first_));
  ASSERT_OK(Cuda().cuMemDiscardAndPrefetchBatchAsync(
      pieces_, sizes_, 3, &places_[1], &start, 1, 0, first_));
  EXPECT_EQ(LastPlaces(), std::vector<int>(3, device_));
  ASSERT_OK(Cuda().cuMemsetD32Async(pieces_[1], 6, kSize / 4, first_));
  ASSERT_OK(Cuda().cuStreamSynchronize(first_));
  EXPECT_EQ(reinterpret_cast<const unsigned*>(pieces_[1])[kSize / 4 - 1], 6u);
}

TEST_F(ManagedBatchTest, OnlyManagedMemoryIsDiscarded) {
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemDiscardBatchAsync(&memory_, sizes_, 1, 0, first_));
  sizes_[0] += 1;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemDiscardBatchAsync(pieces_, sizes_, 1, 0, first_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemDiscardBatchAsync(pieces_, sizes_, 0, 0, first_));
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
