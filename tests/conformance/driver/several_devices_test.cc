// SPDX-License-Identifier: Apache-2.0
//
// A driver with more than one device; skipped where there is one.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/conformance/driver/api.h"
#include "tests/conformance/driver/kernels.h"

namespace holdfast::conformance {
namespace {

// The primary contexts of devices 0 and 1; the first is current.
class SeveralDevicesTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(Cuda().cuInit(0));
    ASSERT_OK(Cuda().cuDeviceGetCount(&count_));
    if (count_ < 2) GTEST_SKIP() << "one device";
    ASSERT_OK(Cuda().cuDevicePrimaryCtxRetain(&first_, 0));
    ASSERT_OK(Cuda().cuDevicePrimaryCtxRetain(&second_, 1));
    ASSERT_OK(Cuda().cuCtxSetCurrent(first_));
  }
  void TearDown() override {
    if (count_ < 2) return;
    EXPECT_OK(Cuda().cuCtxSetCurrent(nullptr));
    for (CUdevice device : {0, 1}) {
      EXPECT_OK(Cuda().cuDevicePrimaryCtxRelease_v2(device));
    }
  }

  void On(CUcontext context) { ASSERT_OK(Cuda().cuCtxSetCurrent(context)); }

  CUdeviceptr AllocateOn(CUcontext context, size_t size) {
    On(context);
    CUdeviceptr pointer = 0;
    EXPECT_OK(Cuda().cuMemAlloc_v2(&pointer, size));
    return pointer;
  }
  void FreeOn(CUcontext context, CUdeviceptr pointer) {
    On(context);
    EXPECT_OK(Cuda().cuMemFree_v2(pointer));
  }

  void Write(CUdeviceptr to, const std::vector<float>& values) {
    EXPECT_OK(Cuda().cuMemcpyHtoD_v2(to, values.data(), 4 * values.size()));
  }
  std::vector<float> Read(CUdeviceptr from, size_t count) {
    std::vector<float> values(count);
    EXPECT_OK(Cuda().cuMemcpyDtoH_v2(values.data(), from, 4 * count));
    return values;
  }

  int count_ = 0;
  CUcontext first_ = nullptr;
  CUcontext second_ = nullptr;
};

TEST_F(SeveralDevicesTest, EachHasAUuidAndABusIdOfItsOwn) {
  std::set<std::string> uuids, ids;
  for (CUdevice device = 0; device < count_; ++device) {
    CUuuid uuid{};
    EXPECT_OK(Cuda().cuDeviceGetUuid_v2(&uuid, device));
    uuids.insert(std::string(uuid.bytes, 16));
    char id[32] = {};
    ASSERT_OK(Cuda().cuDeviceGetPCIBusId(id, sizeof(id), device));
    ids.insert(id);
    CUdevice found = -1;
    EXPECT_OK(Cuda().cuDeviceGetByPCIBusId(&found, id));
    EXPECT_EQ(found, device);
  }
  EXPECT_EQ(uuids.size(), static_cast<size_t>(count_));
  EXPECT_EQ(ids.size(), static_cast<size_t>(count_));
}

TEST_F(SeveralDevicesTest, PrimaryContextsAreApart) {
  EXPECT_NE(first_, second_);
  CUdevice device = -1;
  EXPECT_OK(Cuda().cuCtxGetDevice_v2(&device, second_));
  EXPECT_EQ(device, 1);
  ASSERT_OK(Cuda().cuDevicePrimaryCtxReset_v2(1));
  unsigned flags;
  int active = 0;
  EXPECT_OK(Cuda().cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 1);
  ASSERT_OK(Cuda().cuDevicePrimaryCtxRetain(&second_, 1));
  // A reset leaves the references that there were.
  EXPECT_OK(Cuda().cuDevicePrimaryCtxRelease_v2(1));
  EXPECT_OK(Cuda().cuDevicePrimaryCtxGetState(1, &flags, &active));
  EXPECT_EQ(active, 1);
}

TEST_F(SeveralDevicesTest, PointersTellTheirDevice) {
  for (const CUcontext context : {first_, second_}) {
    const CUdeviceptr pointer = AllocateOn(context, 256);
    int ordinal = -1;
    EXPECT_OK(Cuda().cuPointerGetAttribute(
        &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer));
    EXPECT_EQ(ordinal, context == first_ ? 0 : 1);
    CUcontext owner = nullptr;
    EXPECT_OK(Cuda().cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT,
                                           pointer));
    EXPECT_EQ(owner, context);
    FreeOn(context, pointer);
  }
}

TEST_F(SeveralDevicesTest, MemoryOfOneIsNotTakenFromTheOther) {
  constexpr size_t kSize = size_t{64} << 20;
  size_t before = 0, after = 0, total = 0;
  EXPECT_OK(Cuda().cuMemGetInfo_v2(&before, &total));
  const CUdeviceptr pointer = AllocateOn(second_, kSize);
  On(first_);
  EXPECT_OK(Cuda().cuMemGetInfo_v2(&after, &total));
  EXPECT_LT(before - after, kSize);
  FreeOn(second_, pointer);
}

TEST_F(SeveralDevicesTest, ALibraryHasItsVariablesOnceAContext) {
  CUlibrary library;
  ASSERT_OK(Cuda().cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0,
                                     nullptr, nullptr, 0));
  CUkernel bump;
  ASSERT_OK(Cuda().cuLibraryGetKernel(&bump, library, "bump"));
  CUdeviceptr counters[2];
  for (const CUcontext context : {second_, first_}) {
    On(context);
    CUdeviceptr& counter = counters[context == first_ ? 0 : 1];
    size_t size = 0;
    ASSERT_OK(Cuda().cuLibraryGetGlobal(&counter, &size, library, "counter"));
    int ordinal = -1;
    EXPECT_OK(Cuda().cuPointerGetAttribute(
        &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, counter));
    EXPECT_EQ(ordinal, context == first_ ? 0 : 1);
  }
  EXPECT_NE(counters[0], counters[1]);
  On(second_);
  ASSERT_OK(Cuda().cuLaunchKernel(reinterpret_cast<CUfunction>(bump), 1, 1, 1,
                                  1, 1, 1, 0, nullptr, nullptr, nullptr));
  uint32_t values[2] = {};
  EXPECT_OK(Cuda().cuMemcpyDtoH_v2(&values[1], counters[1], 4));
  On(first_);
  EXPECT_OK(Cuda().cuMemcpyDtoH_v2(&values[0], counters[0], 4));
  EXPECT_EQ(values[0], 7u);
  EXPECT_EQ(values[1], 8u);
  EXPECT_OK(Cuda().cuLibraryUnload(library));
}

TEST_F(SeveralDevicesTest, SharedMemoryIsOptedInToDeviceByDevice) {
  constexpr int kShared = 64 << 10;
  CUlibrary library;
  ASSERT_OK(Cuda().cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0,
                                     nullptr, nullptr, 0));
  CUkernel kernel;
  ASSERT_OK(Cuda().cuLibraryGetKernel(&kernel, library, "empty"));
  ASSERT_OK(Cuda().cuKernelSetAttribute(
      CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kShared, kernel, 1));
  int value = 0;
  EXPECT_OK(Cuda().cuKernelGetAttribute(
      &value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 1));
  EXPECT_EQ(value, kShared);
  EXPECT_OK(Cuda().cuKernelGetAttribute(
      &value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0));
  EXPECT_LT(value, kShared);
  const auto launch = [&] {
    return Cuda().cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1,
                                 1, 1, 1, kShared, nullptr, nullptr, nullptr);
  };
  On(second_);
  EXPECT_OK(launch());
  On(first_);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, launch());
  EXPECT_OK(Cuda().cuLibraryUnload(library));
}

TEST_F(SeveralDevicesTest, AStreamWaitsForAnEventOfAnotherDevice) {
  CUstream there, here;
  CUevent event;
  ASSERT_OK(Cuda().cuStreamCreate(&here, CU_STREAM_NON_BLOCKING));
  On(second_);
  ASSERT_OK(Cuda().cuStreamCreate(&there, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(Cuda().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  {
    Gate gate;
    gate.Block(there);
    EXPECT_OK(Cuda().cuEventRecord(event, there));
    On(first_);
    EXPECT_OK(Cuda().cuStreamWaitEvent(here, event, 0));
    EXPECT_CUDA(CUDA_ERROR_NOT_READY, Cuda().cuStreamQuery(here));
  }
  EXPECT_OK(Cuda().cuStreamSynchronize(here));
  EXPECT_OK(Cuda().cuStreamDestroy_v2(here));
  On(second_);
  EXPECT_OK(Cuda().cuEventDestroy_v2(event));
  EXPECT_OK(Cuda().cuStreamDestroy_v2(there));
}

TEST_F(SeveralDevicesTest, CopiesBetweenDevicesNeedNoPeerAccess) {
  const std::vector<float> values = {1, 2, 3, 4};
  const CUdeviceptr to = AllocateOn(second_, 16);
  const CUdeviceptr from = AllocateOn(first_, 16);
  Write(from, values);
  EXPECT_OK(Cuda().cuMemcpyPeer(to, second_, from, first_, 16));
  On(second_);
  EXPECT_EQ(Read(to, 4), values);
  CUDA_MEMCPY3D_PEER box{};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = to;
  box.srcContext = second_;
  box.dstDevice = from;
  box.dstContext = first_;
  box.srcPitch = box.dstPitch = 8;
  box.srcHeight = box.dstHeight = 2;
  box.srcXInBytes = 4;
  box.WidthInBytes = 4;
  box.Height = 2;
  box.Depth = 1;
  EXPECT_OK(Cuda().cuMemcpy3DPeerAsync(&box, nullptr));
  EXPECT_OK(Cuda().cuCtxSynchronize_v2(second_));
  EXPECT_EQ(Read(from, 4), (std::vector<float>{2, 2, 4, 4}));
  FreeOn(second_, to);
  FreeOn(first_, from);
}

TEST_F(SeveralDevicesTest, DefaultPoolsAreApartAndOpenToPeersByRequest) {
  CUmemoryPool pools[2];
  ASSERT_OK(Cuda().cuDeviceGetDefaultMemPool(&pools[0], 0));
  ASSERT_OK(Cuda().cuDeviceGetDefaultMemPool(&pools[1], 1));
  EXPECT_NE(pools[0], pools[1]);
  int can = 0;
  ASSERT_OK(Cuda().cuDeviceCanAccessPeer(&can, 0, 1));
  if (can == 0) return;
  CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemAccess_flags flags;
  EXPECT_OK(Cuda().cuMemPoolGetAccess(&flags, pools[1], &location));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  CUmemAccessDesc access{location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_OK(Cuda().cuMemPoolSetAccess(pools[1], &access, 1));
  EXPECT_OK(Cuda().cuMemPoolGetAccess(&flags, pools[1], &location));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  EXPECT_OK(Cuda().cuMemPoolSetAccess(pools[1], &access, 1));
  EXPECT_OK(Cuda().cuMemPoolGetAccess(&flags, pools[1], &location));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
}

// The first device reaches the second's memory, if it can at all.
class PeerAccessTest : public SeveralDevicesTest {
 protected:
  void SetUp() override {
    SeveralDevicesTest::SetUp();
    if (IsSkipped()) return;
    int can = 0;
    ASSERT_OK(Cuda().cuDeviceCanAccessPeer(&can, 0, 1));
    if (can == 0) GTEST_SKIP() << "device 0 cannot access device 1";
  }

  // data[i] *= 2 on the first device.
  void Double(CUdeviceptr data, uint32_t count) {
    On(first_);
    CUmodule module;
    ASSERT_OK(Cuda().cuModuleLoadData(&module, kPtx));
    CUfunction scale;
    ASSERT_OK(Cuda().cuModuleGetFunction(&scale, module, "scale"));
    float factor = 2;
    void* parameters[] = {&data, &factor, &count};
    ASSERT_OK(Cuda().cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, nullptr,
                                    parameters, nullptr));
    EXPECT_OK(Cuda().cuCtxSynchronize_v2(first_));
    EXPECT_OK(Cuda().cuModuleUnload(module));
  }
};

TEST_F(PeerAccessTest, ADeviceIsNoPeerOfItself) {
  int can = 1;
  EXPECT_OK(Cuda().cuDeviceCanAccessPeer(&can, 0, 0));
  EXPECT_EQ(can, 0);
  EXPECT_CUDA(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
              Cuda().cuCtxEnablePeerAccess(first_, 0));
  int value;
  EXPECT_CUDA(CUDA_ERROR_INVALID_DEVICE,
              Cuda().cuDeviceGetP2PAttribute(
                  &value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 1));
}

TEST_F(PeerAccessTest, AttributesDescribeThePair) {
  int value = -1;
  EXPECT_OK(Cuda().cuDeviceGetP2PAttribute(
      &value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
  EXPECT_EQ(value, 1);
  EXPECT_OK(Cuda().cuDeviceGetP2PAttribute(
      &value, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, 1, 0));
  EXPECT_GE(value, 0);
  EXPECT_CUDA(CUDA_ERROR_INVALID_DEVICE,
              Cuda().cuDeviceGetP2PAttribute(
                  &value, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, 0, count_));
}

TEST_F(PeerAccessTest, AccessIsEnabledOnceAndDisabledOnce) {
  EXPECT_CUDA(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
              Cuda().cuCtxDisablePeerAccess(second_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuCtxEnablePeerAccess(second_, 1));
  EXPECT_OK(Cuda().cuCtxEnablePeerAccess(second_, 0));
  EXPECT_CUDA(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
              Cuda().cuCtxEnablePeerAccess(second_, 0));
  // One direction says nothing of the other.
  On(second_);
  EXPECT_CUDA(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
              Cuda().cuCtxDisablePeerAccess(first_));
  On(first_);
  EXPECT_OK(Cuda().cuCtxDisablePeerAccess(second_));
  EXPECT_CUDA(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
              Cuda().cuCtxDisablePeerAccess(second_));
}

TEST_F(PeerAccessTest, AKernelReachesAPeersMemory) {
  const CUdeviceptr data = AllocateOn(second_, 16);
  Write(data, {1, 2, 3, 4});
  On(first_);
  ASSERT_OK(Cuda().cuCtxEnablePeerAccess(second_, 0));
  Double(data, 4);
  EXPECT_OK(Cuda().cuCtxDisablePeerAccess(second_));
  On(second_);
  EXPECT_EQ(Read(data, 4), (std::vector<float>{2, 4, 6, 8}));
  FreeOn(second_, data);
}

TEST_F(PeerAccessTest, MappedMemoryHasAccessDeviceByDevice) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
  size_t size = 0;
  ASSERT_OK(Cuda().cuMemGetAllocationGranularity(
      &size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUmemGenericAllocationHandle handle;
  ASSERT_OK(Cuda().cuMemCreate(&handle, size, &properties, 0));
  CUdeviceptr data = 0;
  ASSERT_OK(Cuda().cuMemAddressReserve(&data, size, 0, 0, 0));
  ASSERT_OK(Cuda().cuMemMap(data, size, 0, handle, 0));
  const CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemAccessDesc access[] = {
      {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
      {here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  ASSERT_OK(Cuda().cuMemSetAccess(data, size, access, 1));
  unsigned long long flags = 99;
  EXPECT_OK(Cuda().cuMemGetAccess(&flags, &here, data));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  int ordinal = -1;
  EXPECT_OK(Cuda().cuPointerGetAttribute(
      &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, data));
  EXPECT_EQ(ordinal, 1);
  On(second_);
  Write(data, {1, 2, 3, 4});
  ASSERT_OK(Cuda().cuMemSetAccess(data, size, &access[1], 1));
  EXPECT_OK(Cuda().cuMemGetAccess(&flags, &here, data));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  Double(data, 4);
  access[1].flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  ASSERT_OK(Cuda().cuMemSetAccess(data, size, &access[1], 1));
  EXPECT_OK(Cuda().cuMemGetAccess(&flags, &properties.location, data));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  On(second_);
  EXPECT_EQ(Read(data, 4), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_OK(Cuda().cuMemUnmap(data, size));
  EXPECT_OK(Cuda().cuMemAddressFree(data, size));
  EXPECT_OK(Cuda().cuMemRelease(handle));
}

}  // namespace
}  // namespace holdfast::conformance
