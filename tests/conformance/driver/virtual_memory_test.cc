// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "tests/conformance/driver/api.h"

namespace holdfast::conformance {
namespace {

class VirtualMemoryTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties_.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_};
    access_.location = properties_.location;
    access_.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    ASSERT_OK(Cuda().cuMemGetAllocationGranularity(
        &size_, &properties_, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  }

  CUmemGenericAllocationHandle Create() {
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_OK(Cuda().cuMemCreate(&handle, size_, &properties_, 0));
    return handle;
  }

  CUdeviceptr Reserve(size_t size) {
    CUdeviceptr address = 0;
    EXPECT_OK(Cuda().cuMemAddressReserve(&address, size, 0, 0, 0));
    return address;
  }

  CUmemAllocationProp properties_{};
  CUmemAccessDesc access_{};
  size_t size_ = 0;  // the granularity
};

TEST_F(VirtualMemoryTest, SizesMustBeWholeGranules) {
  CUmemGenericAllocationHandle handle;
  CUdeviceptr address;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemCreate(&handle, size_ + 1, &properties_, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemCreate(&handle, 0, &properties_, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemAddressReserve(&address, 0, 0, 0, 0));
}

TEST_F(VirtualMemoryTest, MappedMemoryNeedsAccessRights) {
  const CUmemGenericAllocationHandle handle = Create();
  const CUdeviceptr address = Reserve(size_);
  ASSERT_OK(Cuda().cuMemMap(address, size_, 0, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemsetD8_v2(address, 1, size_));
  ASSERT_OK(Cuda().cuMemSetAccess(address, size_, &access_, 1));
  unsigned long long flags = 0;
  EXPECT_OK(Cuda().cuMemGetAccess(&flags, &access_.location, address));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_OK(Cuda().cuMemsetD8_v2(address, 1, size_));
  EXPECT_OK(Cuda().cuMemUnmap(address, size_));
  EXPECT_OK(Cuda().cuMemRelease(handle));
  EXPECT_OK(Cuda().cuMemAddressFree(address, size_));
}

TEST_F(VirtualMemoryTest, NeighbouringMappingsAreOneRangeForCopies) {
  const CUmemGenericAllocationHandle first = Create(), second = Create();
  const CUdeviceptr address = Reserve(2 * size_);
  ASSERT_OK(Cuda().cuMemMap(address, size_, 0, first, 0));
  ASSERT_OK(Cuda().cuMemMap(address + size_, size_, 0, second, 0));
  ASSERT_OK(Cuda().cuMemSetAccess(address, 2 * size_, &access_, 1));
  std::vector<uint32_t> host(size_ / 2, 0x1234);
  ASSERT_OK(Cuda().cuMemcpyHtoD_v2(address, host.data(), 2 * size_));
  host.assign(host.size(), 0);
  ASSERT_OK(Cuda().cuMemcpyDtoH_v2(host.data(), address, 2 * size_));
  EXPECT_EQ(host.back(), 0x1234u);
  ASSERT_OK(Cuda().cuMemUnmap(address, 2 * size_));
  EXPECT_OK(Cuda().cuMemRelease(first));
  EXPECT_OK(Cuda().cuMemRelease(second));
  EXPECT_OK(Cuda().cuMemAddressFree(address, 2 * size_));
}

TEST_F(VirtualMemoryTest, ReleasedHandleKeepsItsMappingAlive) {
  const CUmemGenericAllocationHandle handle = Create();
  const CUdeviceptr address = Reserve(size_);
  ASSERT_OK(Cuda().cuMemMap(address, size_, 0, handle, 0));
  ASSERT_OK(Cuda().cuMemSetAccess(address, size_, &access_, 1));
  ASSERT_OK(Cuda().cuMemRelease(handle));
  ASSERT_OK(Cuda().cuMemsetD32_v2(address, 42, size_ / 4));
  uint32_t value = 0;
  EXPECT_OK(Cuda().cuMemcpyDtoH_v2(&value, address + size_ - 4, 4));
  EXPECT_EQ(value, 42u);
  EXPECT_OK(Cuda().cuMemUnmap(address, size_));
  EXPECT_OK(Cuda().cuMemAddressFree(address, size_));
}

TEST_F(VirtualMemoryTest, MappingsDoNotOverlapAndStayInTheirReservation) {
  const CUmemGenericAllocationHandle handle = Create();
  const CUdeviceptr address = Reserve(size_);
  ASSERT_OK(Cuda().cuMemMap(address, size_, 0, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemMap(address, size_, 0, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemMap(address + size_, size_, 0, handle, 0));
  EXPECT_OK(Cuda().cuMemUnmap(address, size_));
  EXPECT_OK(Cuda().cuMemUnmap(address, size_));  // nothing is left to unmap
  EXPECT_OK(Cuda().cuMemRelease(handle));
  EXPECT_OK(Cuda().cuMemAddressFree(address, size_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuMemAddressFree(address, size_));
}

TEST_F(VirtualMemoryTest, AFreeAddressCanBeAskedForAgain) {
  const CUdeviceptr address = Reserve(size_);
  ASSERT_OK(Cuda().cuMemAddressFree(address, size_));
  CUdeviceptr again = 0;
  ASSERT_OK(Cuda().cuMemAddressReserve(&again, size_, 0, address, 0));
  EXPECT_EQ(again, address);
  EXPECT_OK(Cuda().cuMemAddressFree(again, size_));
}

TEST_F(VirtualMemoryTest, ExportedDescriptorIsTheSameMemory) {
  const CUmemGenericAllocationHandle handle = Create();
  int fd = -1;
  ASSERT_OK(Cuda().cuMemExportToShareableHandle(
      &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  ASSERT_GE(fd, 0);
  CUmemGenericAllocationHandle imported = 0;
  ASSERT_OK(Cuda().cuMemImportFromShareableHandle(
      &imported, reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(fd);
  const CUdeviceptr address = Reserve(2 * size_);
  ASSERT_OK(Cuda().cuMemMap(address, size_, 0, handle, 0));
  ASSERT_OK(Cuda().cuMemMap(address + size_, size_, 0, imported, 0));
  ASSERT_OK(Cuda().cuMemSetAccess(address, 2 * size_, &access_, 1));
  ASSERT_OK(Cuda().cuMemsetD32_v2(address, 0xfeed, 1));
  ASSERT_OK(Cuda().cuCtxSynchronize_v2(context_));
  uint32_t value = 0;
  EXPECT_OK(Cuda().cuMemcpyDtoH_v2(&value, address + size_, 4));
  EXPECT_EQ(value, 0xfeedu);
  EXPECT_OK(Cuda().cuMemUnmap(address, 2 * size_));
  EXPECT_OK(Cuda().cuMemRelease(handle));
  EXPECT_OK(Cuda().cuMemRelease(imported));
  EXPECT_OK(Cuda().cuMemAddressFree(address, 2 * size_));
}

TEST_F(VirtualMemoryTest, ForeignDescriptorIsRefused) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_NE(CUDA_SUCCESS,
            Cuda().cuMemImportFromShareableHandle(
                &handle, reinterpret_cast<void*>(intptr_t{ends[0]}),
                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace holdfast::conformance
