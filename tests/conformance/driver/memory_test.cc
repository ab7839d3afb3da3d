// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <vector>

#include "tests/conformance/driver/api.h"

namespace holdfast::conformance {
namespace {

// Device memory that the test's end frees.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t size) {
    EXPECT_OK(Cuda().cuMemAlloc_v2(&pointer_, size));
  }
  ~DeviceMemory() { EXPECT_OK(Cuda().cuMemFree_v2(pointer_)); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  CUdeviceptr operator*() const { return pointer_; }

 private:
  CUdeviceptr pointer_ = 0;
};

std::vector<uint8_t> Sequence(size_t size) {
  std::vector<uint8_t> bytes(size);
  std::iota(bytes.begin(), bytes.end(), uint8_t{1});
  return bytes;
}

std::vector<uint8_t> Read(CUdeviceptr pointer, size_t size) {
  std::vector<uint8_t> bytes(size);
  EXPECT_OK(Cuda().cuMemcpyDtoH_v2(bytes.data(), pointer, size));
  return bytes;
}

using MemoryTest = ContextTest;

TEST_F(MemoryTest, AllocationIsAlignedAndCountsAsUsed) {
  size_t before = 0, after = 0, total = 0;
  ASSERT_OK(Cuda().cuMemGetInfo_v2(&before, &total));
  EXPECT_LE(before, total);
  const DeviceMemory memory(64 << 20);
  EXPECT_EQ(*memory % 256, 0u);
  ASSERT_OK(Cuda().cuMemGetInfo_v2(&after, &total));
  EXPECT_LE(after + (64 << 20), before);
}

TEST_F(MemoryTest, SizesThatCannotBeAreRefused) {
  CUdeviceptr pointer = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuMemAlloc_v2(&pointer, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuMemAlloc_v2(nullptr, 16));
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY,
              Cuda().cuMemAlloc_v2(&pointer, size_t{1} << 50));
}

TEST_F(MemoryTest, FreeAcceptsNullAndRefusesWhatIsNotAllocated) {
  EXPECT_OK(Cuda().cuMemFree_v2(0));
  CUdeviceptr pointer = 0;
  ASSERT_OK(Cuda().cuMemAlloc_v2(&pointer, 4096));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuMemFree_v2(pointer + 256));
  EXPECT_OK(Cuda().cuMemFree_v2(pointer));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuMemFree_v2(pointer));
}

TEST_F(MemoryTest, AddressRangeIsTheWholeAllocation) {
  const DeviceMemory memory(1000);
  CUdeviceptr base = 0;
  size_t size = 0;
  EXPECT_OK(Cuda().cuMemGetAddressRange_v2(&base, &size, *memory + 999));
  EXPECT_EQ(base, *memory);
  EXPECT_EQ(size, 1000u);
  int local = 0;
  EXPECT_CUDA(CUDA_ERROR_NOT_FOUND,
              Cuda().cuMemGetAddressRange_v2(
                  &base, &size, reinterpret_cast<CUdeviceptr>(&local)));
}

TEST_F(MemoryTest, BytesSurviveTheWayThereAndBack) {
  const size_t size = (3 << 20) + 7;
  const std::vector<uint8_t> bytes = Sequence(size);
  const DeviceMemory first(size), second(size);
  ASSERT_OK(Cuda().cuMemcpyHtoD_v2(*first, bytes.data(), size));
  ASSERT_OK(Cuda().cuMemcpyDtoD_v2(*second, *first, size));
  EXPECT_EQ(Read(*second, size), bytes);
}

TEST_F(MemoryTest, UnifiedCopyTakesItsDirectionFromTheAddresses) {
  const std::vector<uint8_t> bytes = Sequence(5000);
  const DeviceMemory memory(5000);
  ASSERT_OK(Cuda().cuMemcpy(*memory,
                            reinterpret_cast<CUdeviceptr>(bytes.data()), 5000));
  EXPECT_EQ(Read(*memory, 5000), bytes);
}

TEST_F(MemoryTest, CopyBeyondTheAllocationIsRefused) {
  // More than any driver adds to the end of a small allocation.
  const size_t far = 64 << 20;
  const DeviceMemory memory(4096);
  std::vector<uint8_t> host(far);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemcpyHtoD_v2(*memory, host.data(), far));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemcpyDtoH_v2(host.data(), *memory, far));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuMemsetD8_v2(*memory, 0, far));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemcpyHtoD_v2(0, host.data(), 16));
  EXPECT_OK(Cuda().cuMemcpyHtoD_v2(*memory, host.data(), 0));
}

TEST_F(MemoryTest, FillsWriteExactlyTheirElements) {
  const DeviceMemory memory(64);
  ASSERT_OK(Cuda().cuMemsetD8_v2(*memory, 0xee, 64));
  ASSERT_OK(Cuda().cuMemsetD8_v2(*memory + 1, 0x11, 3));
  ASSERT_OK(Cuda().cuMemsetD16_v2(*memory + 8, 0x2233, 2));
  ASSERT_OK(Cuda().cuMemsetD32_v2(*memory + 16, 0x44556677, 1));
  const std::vector<uint8_t> bytes = Read(*memory, 64);
  const std::vector<uint8_t> expected = {
      0xee, 0x11, 0x11, 0x11, 0xee, 0xee, 0xee, 0xee, 0x33, 0x22, 0x33,
      0x22, 0xee, 0xee, 0xee, 0xee, 0x77, 0x66, 0x55, 0x44, 0xee};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), bytes.begin()));
}

TEST_F(MemoryTest, MisalignedFillIsRefused) {
  const DeviceMemory memory(64);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemsetD16_v2(*memory + 1, 0, 2));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemsetD32_v2(*memory + 2, 0, 2));
}

TEST_F(MemoryTest, PitchedRowsAreCopiedApart) {
  CUdeviceptr pointer = 0;
  size_t pitch = 0;
  ASSERT_OK(Cuda().cuMemAllocPitch_v2(&pointer, &pitch, 100, 4, 4));
  EXPECT_GE(pitch, 100u);
  ASSERT_OK(Cuda().cuMemsetD2D8_v2(pointer, pitch, 0, pitch, 4));
  const std::vector<uint8_t> host = Sequence(8 * 10);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.srcPitch = 10;
  copy.srcXInBytes = 2;
  copy.srcY = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = pointer;
  copy.dstPitch = pitch;
  copy.dstXInBytes = 5;
  copy.WidthInBytes = 6;
  copy.Height = 3;
  ASSERT_OK(Cuda().cuMemcpy2D_v2(&copy));
  const std::vector<uint8_t> device = Read(pointer, pitch * 4);
  for (size_t y = 0; y < 3; ++y) {
    EXPECT_EQ(device[y * pitch + 4], 0);
    for (size_t x = 0; x < 6; ++x) {
      EXPECT_EQ(device[y * pitch + 5 + x], host[(y + 1) * 10 + 2 + x]);
    }
    EXPECT_EQ(device[y * pitch + 11], 0);
  }
  copy.srcPitch = 4;  // narrower than a row
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuMemcpy2D_v2(&copy));
  EXPECT_OK(Cuda().cuMemFree_v2(pointer));
}

TEST_F(MemoryTest, VolumesAreCopiedByPlanes) {
  const DeviceMemory memory(4 * 4 * 4);
  ASSERT_OK(Cuda().cuMemsetD8_v2(*memory, 0, 64));
  const std::vector<uint8_t> host = Sequence(2 * 2 * 2);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.srcPitch = 2;
  copy.srcHeight = 2;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = *memory;
  copy.dstPitch = 4;
  copy.dstHeight = 4;
  copy.dstXInBytes = copy.dstY = copy.dstZ = 1;
  copy.WidthInBytes = copy.Height = copy.Depth = 2;
  ASSERT_OK(Cuda().cuMemcpy3D_v2(&copy));
  const std::vector<uint8_t> device = Read(*memory, 64);
  EXPECT_EQ(device[(1 * 4 + 1) * 4 + 1], host[0]);
  EXPECT_EQ(device[(1 * 4 + 2) * 4 + 2], host[3]);
  EXPECT_EQ(device[(2 * 4 + 1) * 4 + 1], host[4]);
  EXPECT_EQ(device[(2 * 4 + 2) * 4 + 2], host[7]);
  EXPECT_EQ(std::count(device.begin(), device.end(), 0), 64 - 8);
}

TEST_F(MemoryTest, PointerAttributesTellDeviceFromHost) {
  const DeviceMemory memory(4096);
  void* host = nullptr;
  ASSERT_OK(Cuda().cuMemHostAlloc(&host, 4096, 0));
  const auto type = [](CUdeviceptr pointer) {
    unsigned value = 0;
    EXPECT_OK(Cuda().cuPointerGetAttribute(
        &value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer));
    return value;
  };
  EXPECT_EQ(type(*memory + 5), CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(type(reinterpret_cast<CUdeviceptr>(host)), CU_MEMORYTYPE_HOST);
  CUdeviceptr start = 0;
  EXPECT_OK(Cuda().cuPointerGetAttribute(
      &start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, *memory + 5));
  EXPECT_EQ(start, *memory);
  CUcontext context = nullptr;
  EXPECT_OK(Cuda().cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT,
                                         *memory));
  EXPECT_EQ(context, context_);
  int local = 0;
  unsigned value = 0;
  EXPECT_CUDA(
      CUDA_ERROR_INVALID_VALUE,
      Cuda().cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   reinterpret_cast<CUdeviceptr>(&local)));
  EXPECT_OK(Cuda().cuMemFreeHost(host));
}

TEST_F(MemoryTest, ManyAttributesOfAnUnknownPointerAreNoError) {
  int local = 0;
  CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                 CU_POINTER_ATTRIBUTE_HOST_POINTER};
  unsigned type = 7;
  int ordinal = 7;
  void* host = nullptr;
  void* values[] = {&type, &ordinal, &host};
  EXPECT_OK(Cuda().cuPointerGetAttributes(
      3, names, values, reinterpret_cast<CUdeviceptr>(&local)));
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(ordinal, -2);
  EXPECT_EQ(host, &local);
}

TEST_F(MemoryTest, NoPinnedBytesAreANullPointer) {
  int local = 0;
  void* host = &local;
  ASSERT_OK(Cuda().cuMemHostAlloc(&host, 0, 0));
  EXPECT_EQ(host, nullptr);
  EXPECT_OK(Cuda().cuMemFreeHost(host));
}

TEST_F(MemoryTest, CopiesOfNothingAreNotLookedAt) {
  const DeviceMemory memory(64);
  char host[64] = {};
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = CU_MEMORYTYPE_HOST;
  rows.srcHost = host;
  rows.srcPitch = 4;
  rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.dstDevice = *memory;
  rows.dstPitch = 16;
  rows.WidthInBytes = 6;
  rows.Height = 2;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuMemcpy2D_v2(&rows));
  rows.Height = 0;
  EXPECT_OK(Cuda().cuMemcpy2D_v2(&rows));
  const CUDA_MEMCPY3D nothing{};
  EXPECT_OK(Cuda().cuMemcpy3D_v2(&nothing));
}

TEST_F(MemoryTest, RowsOfAFillDoNotOverlap) {
  const DeviceMemory memory(64);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemsetD2D8_v2(*memory, 2, 1, 4, 2));
  EXPECT_OK(Cuda().cuMemsetD2D8_v2(*memory, 4, 1, 4, 2));
  EXPECT_OK(Cuda().cuMemsetD2D8_v2(*memory, 2, 1, 4, 0));
}

TEST_F(MemoryTest, TheMiddleOfRegisteredMemoryIsNotUnregistered) {
  std::vector<char> host(1 << 20);
  ASSERT_OK(Cuda().cuMemHostRegister_v2(host.data(), host.size(), 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemHostUnregister(host.data() + 4096));
  EXPECT_OK(Cuda().cuMemHostUnregister(host.data()));
  EXPECT_CUDA(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
              Cuda().cuMemHostUnregister(host.data()));
}

TEST_F(MemoryTest, PinnedMemoryIsVisibleToBothSides) {
  void* host = nullptr;
  ASSERT_OK(Cuda().cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  CUdeviceptr mapped = 0;
  ASSERT_OK(Cuda().cuMemHostGetDevicePointer_v2(&mapped, host, 0));
  ASSERT_OK(Cuda().cuMemsetD8_v2(mapped, 0x5a, 4096));
  ASSERT_OK(Cuda().cuCtxSynchronize_v2(context_));
  EXPECT_EQ(static_cast<uint8_t*>(host)[4095], 0x5a);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemFree_v2(reinterpret_cast<CUdeviceptr>(host)));
  EXPECT_OK(Cuda().cuMemFreeHost(host));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuMemFreeHost(host));
}

TEST_F(MemoryTest, FreedPinnedMemoryKeepsNoDescriptorOpen) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  const auto allocate_and_free = [] {
    void* host = nullptr;
    ASSERT_OK(Cuda().cuMemHostAlloc(&host, size_t{64} << 20, 0));
    ASSERT_OK(Cuda().cuMemFreeHost(host));
  };
  allocate_and_free();  // drivers open some once
  const auto before = descriptors();
  for (int i = 0; i < 20; ++i) allocate_and_free();
  EXPECT_LT(descriptors(), before + 10);
}

TEST_F(MemoryTest, WhatGoesToPinnedMemoryIsThereWhenTheCallReturns) {
  void* host = nullptr;
  ASSERT_OK(Cuda().cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  CUdeviceptr mapped = 0;
  ASSERT_OK(Cuda().cuMemHostGetDevicePointer_v2(&mapped, host, 0));
  const auto* words = static_cast<volatile uint32_t*>(host);
  const DeviceMemory memory(4096);
  for (uint32_t i = 1; i <= 50; ++i) {
    ASSERT_OK(Cuda().cuMemsetD32_v2(mapped, i, 1024));
    ASSERT_EQ(words[1023], i);
    ASSERT_OK(Cuda().cuMemsetD32_v2(*memory, 1000 + i, 1024));
    ASSERT_OK(Cuda().cuMemcpyDtoD_v2(mapped, *memory, 4096));
    ASSERT_EQ(words[1023], 1000 + i);
  }
  EXPECT_OK(Cuda().cuMemFreeHost(host));
}

TEST_F(MemoryTest, HostMemoryIsRegisteredOnce) {
  void* host = std::aligned_alloc(4096, 8192);
  ASSERT_OK(Cuda().cuMemHostRegister_v2(host, 8192, 0));
  EXPECT_CUDA(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
              Cuda().cuMemHostRegister_v2(host, 8192, 0));
  const DeviceMemory memory(8192);
  ASSERT_OK(Cuda().cuMemsetD8_v2(*memory, 0x77, 8192));
  ASSERT_OK(Cuda().cuMemcpyDtoH_v2(host, *memory, 8192));
  EXPECT_EQ(static_cast<uint8_t*>(host)[8191], 0x77);
  CUdeviceptr mapped = 0;
  if (Attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) ==
      0) {
    EXPECT_CUDA(CUDA_ERROR_NOT_SUPPORTED,
                Cuda().cuMemHostGetDevicePointer_v2(&mapped, host, 0));
  } else {
    EXPECT_OK(Cuda().cuMemHostGetDevicePointer_v2(&mapped, host, 0));
    EXPECT_EQ(mapped, reinterpret_cast<CUdeviceptr>(host));
  }
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemHostUnregister(static_cast<char*>(host) + 4096));
  EXPECT_OK(Cuda().cuMemHostUnregister(host));
  EXPECT_CUDA(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
              Cuda().cuMemHostUnregister(host));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemHostRegister_v2(host, 0, 0));
  std::free(host);
}

TEST_F(MemoryTest, PointersKeepThatTheirOperationsAreSynchronous) {
  const DeviceMemory memory(8192);
  constexpr auto kAttribute = CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
  for (const unsigned value : {0u, 1u, 0u}) {
    ASSERT_OK(Cuda().cuPointerSetAttribute(&value, kAttribute, *memory + 100));
    unsigned found = 7;
    ASSERT_OK(Cuda().cuPointerGetAttribute(&found, kAttribute, *memory));
    EXPECT_EQ(found, value);
  }
}

// The device may see it at another address than the host.
TEST_F(MemoryTest, RegisteredSharedMemoryIsVisibleToBothSides) {
  constexpr size_t kSize = 16384;
  void* const host = mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(host, MAP_FAILED);
  auto* const bytes = static_cast<uint8_t*>(host);
  ASSERT_OK(
      Cuda().cuMemHostRegister_v2(host, kSize, CU_MEMHOSTREGISTER_DEVICEMAP));
  CUdeviceptr mapped = 0, inside = 0;
  ASSERT_OK(Cuda().cuMemHostGetDevicePointer_v2(&mapped, host, 0));
  ASSERT_OK(Cuda().cuMemHostGetDevicePointer_v2(&inside, bytes + 5000, 0));
  EXPECT_EQ(inside, mapped + 5000);
  bytes[0] = 9;
  ASSERT_OK(Cuda().cuMemsetD8_v2(inside, 0x5a, 100));
  ASSERT_OK(Cuda().cuCtxSynchronize_v2(context_));
  EXPECT_EQ(bytes[5099], 0x5a);
  EXPECT_EQ(bytes[5100], 0);
  EXPECT_EQ(Read(mapped, 1).front(), 9);
  void* back = nullptr;
  ASSERT_OK(Cuda().cuPointerGetAttribute(
      &back, CU_POINTER_ATTRIBUTE_HOST_POINTER, inside));
  EXPECT_EQ(back, bytes + 5000);
  CUdeviceptr device = 0;
  ASSERT_OK(Cuda().cuPointerGetAttribute(&device,
                                         CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                         reinterpret_cast<CUdeviceptr>(host)));
  EXPECT_EQ(device, mapped);
  EXPECT_OK(Cuda().cuMemHostUnregister(host));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemHostGetDevicePointer_v2(&mapped, host, 0));
  munmap(host, kSize);
}

TEST_F(MemoryTest, ManagedMemoryIsOneForHostAndDevice) {
  if (Attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) == 0) {
    GTEST_SKIP() << "no concurrent managed access";
  }
  CUdeviceptr pointer = 0;
  ASSERT_OK(Cuda().cuMemAllocManaged(&pointer, 4096, CU_MEM_ATTACH_GLOBAL));
  ASSERT_OK(Cuda().cuMemsetD8_v2(pointer, 3, 4096));
  ASSERT_OK(Cuda().cuCtxSynchronize_v2(context_));
  EXPECT_EQ(*reinterpret_cast<uint8_t*>(pointer + 4000), 3);
  EXPECT_OK(Cuda().cuMemFree_v2(pointer));
}

TEST_F(MemoryTest, FreeingTheContextFreesItsMemory) {
  ASSERT_OK(Cuda().cuCtxSetCurrent(nullptr));
  CUcontext made = nullptr;
  ASSERT_OK(Cuda().cuCtxCreate_v4(&made, nullptr, 0, device_));
  CUdeviceptr pointer = 0;
  ASSERT_OK(Cuda().cuMemAlloc_v2(&pointer, 4096));
  ASSERT_OK(Cuda().cuCtxDestroy_v2(made));
  ASSERT_OK(Cuda().cuCtxSetCurrent(context_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuMemFree_v2(pointer));
}

using PoolTest = ContextTest;

TEST_F(PoolTest, StreamOrderedMemoryLivesFromAllocToFree) {
  CUstream stream = nullptr;
  ASSERT_OK(Cuda().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr pointer = 0;
  ASSERT_OK(Cuda().cuMemAllocAsync(&pointer, 1 << 20, stream));
  ASSERT_OK(Cuda().cuMemsetD32Async(pointer, 0xabcd, 1 << 18, stream));
  std::vector<uint32_t> host(1 << 18);
  ASSERT_OK(Cuda().cuMemcpyDtoHAsync_v2(host.data(), pointer, 1 << 20, stream));
  ASSERT_OK(Cuda().cuMemFreeAsync(pointer, stream));
  ASSERT_OK(Cuda().cuStreamSynchronize(stream));
  EXPECT_EQ(host.back(), 0xabcdu);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuMemFreeAsync(pointer, stream));
  EXPECT_OK(Cuda().cuStreamDestroy_v2(stream));
}

TEST_F(PoolTest, NoBytesInAStreamsOrderAreNoError) {
  CUdeviceptr pointer = 1;
  EXPECT_OK(Cuda().cuMemAllocAsync(&pointer, 0, nullptr));
  EXPECT_OK(Cuda().cuMemFreeAsync(pointer, nullptr));
  EXPECT_OK(Cuda().cuStreamSynchronize(nullptr));
}

TEST_F(PoolTest, PoolKeepsUpToItsReleaseThreshold) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_};
  CUmemoryPool pool = nullptr;
  ASSERT_OK(Cuda().cuMemPoolCreate(&pool, &properties));
  const auto reserved = [pool] {
    cuuint64_t bytes = 0;
    EXPECT_OK(Cuda().cuMemPoolGetAttribute(
        pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes));
    return bytes;
  };
  const auto allocate_and_free = [&] {
    CUdeviceptr pointer = 0;
    ASSERT_OK(Cuda().cuMemAllocFromPoolAsync(&pointer, 1 << 20, pool, nullptr));
    ASSERT_OK(Cuda().cuMemFreeAsync(pointer, nullptr));
    ASSERT_OK(Cuda().cuStreamSynchronize(nullptr));
  };
  allocate_and_free();
  EXPECT_EQ(reserved(), 0u);
  cuuint64_t threshold = 1 << 30;
  ASSERT_OK(Cuda().cuMemPoolSetAttribute(
      pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  allocate_and_free();
  EXPECT_GE(reserved(), uint64_t{1} << 20);
  EXPECT_OK(Cuda().cuMemPoolTrimTo(pool, 0));
  EXPECT_EQ(reserved(), 0u);
  EXPECT_OK(Cuda().cuMemPoolDestroy(pool));
}

TEST_F(PoolTest, TheDefaultPoolTakesThePlaceOfADestroyedCurrentPool) {
  CUmemoryPool first = nullptr, pool = nullptr, current = nullptr;
  ASSERT_OK(Cuda().cuDeviceGetDefaultMemPool(&first, device_));
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_};
  ASSERT_OK(Cuda().cuMemPoolCreate(&pool, &properties));
  ASSERT_OK(Cuda().cuDeviceSetMemPool(device_, pool));
  EXPECT_OK(Cuda().cuMemPoolDestroy(pool));
  ASSERT_OK(Cuda().cuDeviceGetMemPool(&current, device_));
  EXPECT_EQ(current, first);
  CUdeviceptr pointer = 0;
  ASSERT_OK(Cuda().cuMemAllocAsync(&pointer, 4096, nullptr));
  CUmemoryPool owner = nullptr;
  EXPECT_OK(Cuda().cuPointerGetAttribute(
      &owner, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pointer));
  EXPECT_EQ(owner, first);
  EXPECT_OK(Cuda().cuMemFreeAsync(pointer, nullptr));
}

// Freed memory that the pool keeps makes room for the next allocation.
TEST_F(PoolTest, ABoundHoldsForMemoryThatThePoolHasKept) {
  constexpr size_t kUnit = 64 << 20;
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_};
  properties.maxSize = 3 * kUnit;
  CUmemoryPool pool = nullptr;
  ASSERT_OK(Cuda().cuMemPoolCreate(&pool, &properties));
  cuuint64_t threshold = 16 * kUnit;
  ASSERT_OK(Cuda().cuMemPoolSetAttribute(
      pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  CUdeviceptr small = 0, large = 0, over = 0;
  ASSERT_OK(Cuda().cuMemAllocFromPoolAsync(&small, 2 * kUnit, pool, nullptr));
  ASSERT_OK(Cuda().cuMemFreeAsync(small, nullptr));
  ASSERT_OK(Cuda().cuStreamSynchronize(nullptr));
  ASSERT_OK(Cuda().cuMemAllocFromPoolAsync(&large, 3 * kUnit, pool, nullptr));
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY,
              Cuda().cuMemAllocFromPoolAsync(&over, 2 * kUnit, pool, nullptr));
  EXPECT_OK(Cuda().cuMemFreeAsync(large, nullptr));
  EXPECT_OK(Cuda().cuStreamSynchronize(nullptr));
  EXPECT_OK(Cuda().cuMemPoolDestroy(pool));
}

// A pool of memory that the host owns, or that both own. Its memory is used by
// the program and by kernels at one address, and is freed in a stream's order.
class HostPoolTest : public ContextTest,
                     public testing::WithParamInterface<CUmemAllocationType> {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    const CUresult result =
        Cuda().cuMemGetDefaultMemPool(&default_, &location_, GetParam());
    if (result == CUDA_ERROR_NOT_SUPPORTED) {
      GTEST_SKIP() << "no such pools";
    }
    ASSERT_EQ(result, CUDA_SUCCESS);
  }
  // A device has none to pinned memory before. Managed memory needs none.
  void GiveDeviceAccess(CUmemoryPool pool) {
    CUmemLocation device{CU_MEM_LOCATION_TYPE_DEVICE, device_};
    const CUmemAccessDesc access{device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    ASSERT_OK(Cuda().cuMemPoolSetAccess(pool, &access, 1));
    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    ASSERT_OK(Cuda().cuMemPoolGetAccess(&flags, pool, &device));
    EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  }
  // Fills memory on the device, reads it as the program, and frees it.
  void Use(CUmemoryPool pool) {
    GiveDeviceAccess(pool);
    CUdeviceptr pointer = 0;
    const CUresult result =
        Cuda().cuMemAllocFromPoolAsync(&pointer, 1 << 20, pool, nullptr);
    if (result == CUDA_ERROR_NOT_SUPPORTED) {
      GTEST_SKIP() << "no memory that this process shares";
    }
    ASSERT_EQ(result, CUDA_SUCCESS);
    ASSERT_OK(Cuda().cuMemsetD32Async(pointer, 0xabcd, 1 << 18, nullptr));
    ASSERT_OK(Cuda().cuStreamSynchronize(nullptr));
    EXPECT_EQ(reinterpret_cast<const uint32_t*>(pointer)[(1 << 18) - 1],
              0xabcdu);
    unsigned is_managed = 2;
    EXPECT_OK(Cuda().cuPointerGetAttribute(
        &is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer));
    EXPECT_EQ(is_managed, IsManaged() ? 1u : 0u);
    ASSERT_OK(Cuda().cuMemFreeAsync(pointer, nullptr));
    EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
                Cuda().cuMemFreeAsync(pointer, nullptr));
    ASSERT_OK(Cuda().cuStreamSynchronize(nullptr));
  }
  static bool IsManaged() {
    return GetParam() == CU_MEM_ALLOCATION_TYPE_MANAGED;
  }
  CUmemoryPool Current() {
    CUmemoryPool pool = nullptr;
    EXPECT_OK(Cuda().cuMemGetMemPool(&pool, &location_, GetParam()));
    return pool;
  }

  CUmemLocation location_{CU_MEM_LOCATION_TYPE_HOST, 0};
  CUmemoryPool default_ = nullptr;
};

TEST_P(HostPoolTest, HostAndKernelsUseItsMemory) { Use(default_); }

TEST_P(HostPoolTest, APoolOfTheProgramMayBeTheCurrentOne) {
  EXPECT_EQ(Current(), default_);
  CUmemPoolProps properties{};
  properties.allocType = GetParam();
  properties.location = location_;
  CUmemoryPool pool = nullptr;
  ASSERT_OK(Cuda().cuMemPoolCreate(&pool, &properties));
  Use(pool);
  ASSERT_OK(Cuda().cuMemSetMemPool(&location_, GetParam(), pool));
  EXPECT_EQ(Current(), pool);
  ASSERT_OK(Cuda().cuMemSetMemPool(&location_, GetParam(), default_));
  EXPECT_OK(Cuda().cuMemPoolDestroy(pool));
  EXPECT_EQ(Current(), default_);
}

TEST_P(HostPoolTest, TheHostAloneHasAccessToPinnedMemoryAtFirst) {
  CUmemPoolProps properties{};
  properties.allocType = GetParam();
  properties.location = location_;
  CUmemoryPool pool = nullptr;
  ASSERT_OK(Cuda().cuMemPoolCreate(&pool, &properties));
  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  ASSERT_OK(Cuda().cuMemPoolGetAccess(&flags, pool, &location_));
  // A pool of managed memory has no list of accesses.
  EXPECT_EQ(flags, IsManaged() ? CU_MEM_ACCESS_FLAGS_PROT_NONE
                               : CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CUmemLocation device{CU_MEM_LOCATION_TYPE_DEVICE, device_};
  ASSERT_OK(Cuda().cuMemPoolGetAccess(&flags, pool, &device));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  EXPECT_OK(Cuda().cuMemPoolDestroy(pool));
}

TEST_P(HostPoolTest, APoolOfADeviceIsNoPoolOfTheHost) {
  CUmemoryPool of_device = nullptr;
  ASSERT_OK(Cuda().cuDeviceGetDefaultMemPool(&of_device, device_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemSetMemPool(&location_, GetParam(), of_device));
}

TEST_P(HostPoolTest, MemoryIsFreedBehindTheWorkThatUsesIt) {
  GiveDeviceAccess(default_);
  CUdeviceptr pointer = 0, out = 0;
  if (Cuda().cuMemAllocFromPoolAsync(&pointer, 4096, default_, nullptr) !=
      CUDA_SUCCESS) {
    GTEST_SKIP() << "no memory that this process shares";
  }
  ASSERT_OK(Cuda().cuMemAlloc_v2(&out, 4096));
  for (int i = 0; i < 4; ++i) {
    ASSERT_OK(Cuda().cuMemsetD32Async(pointer, 7, 1024, nullptr));
    ASSERT_OK(Cuda().cuMemcpyAsync(out, pointer, 4096, nullptr));
    ASSERT_OK(Cuda().cuMemFreeAsync(pointer, nullptr));
    ASSERT_OK(
        Cuda().cuMemAllocFromPoolAsync(&pointer, 4096, default_, nullptr));
  }
  ASSERT_OK(Cuda().cuMemFreeAsync(pointer, nullptr));
  uint32_t last = 0;
  ASSERT_OK(Cuda().cuMemcpyDtoH_v2(&last, out + 4092, 4));
  EXPECT_EQ(last, 7u);
  EXPECT_OK(Cuda().cuMemFree_v2(out));
}

INSTANTIATE_TEST_SUITE_P(Types, HostPoolTest,
                         testing::Values(CU_MEM_ALLOCATION_TYPE_PINNED,
                                         CU_MEM_ALLOCATION_TYPE_MANAGED),
                         [](const auto& info) {
                           return info.param == CU_MEM_ALLOCATION_TYPE_PINNED
                                      ? "Pinned"
                                      : "Managed";
                         });

}  // namespace
}  // namespace holdfast::conformance
