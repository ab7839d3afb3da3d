// SPDX-License-Identifier: Apache-2.0
#include "core/memory/pool_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/testing/software_driver.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::memory {
namespace {

using holdfast::testing::SoftwareContext;
using holdfast::testing::SoftwareDriver;

// A driver as NVIDIA's: every import has one address, and the first cuMemFree
// unmaps it.
constexpr CUdeviceptr kAddress = 0x7000'0000'0000;
bool g_mapped = false;
int g_freed = 0;
int g_pools = 0;
bool g_range_is_known = true;

CUresult ImportPool(CUmemoryPool* pool, void*, CUmemAllocationHandleType,
                    unsigned long long) {
  *pool = reinterpret_cast<CUmemoryPool>(intptr_t{++g_pools});
  return CUDA_SUCCESS;
}

CUresult ImportPointer(CUdeviceptr* address, CUmemoryPool,
                       CUmemPoolPtrExportData*) {
  *address = kAddress;
  g_mapped = true;
  return CUDA_SUCCESS;
}

CUresult DestroyPool(CUmemoryPool) {
  EXPECT_FALSE(g_mapped) << "the pool goes before its memory";
  --g_pools;
  return CUDA_SUCCESS;
}

CUresult Free(CUdeviceptr address) {
  EXPECT_EQ(address, kAddress);
  EXPECT_TRUE(g_mapped);
  g_mapped = false;
  ++g_freed;
  return CUDA_SUCCESS;
}

CUresult AddressRange(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  *base = address - 512;
  *size = 4096;
  return g_range_is_known ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

class PoolMemoryTest : public ::testing::Test {
 protected:
  PoolMemoryTest() : api_(SoftwareDriver().api) {
    api_.cuMemPoolImportFromShareableHandle = &ImportPool;
    api_.cuMemPoolImportPointer = &ImportPointer;
    api_.cuMemPoolDestroy = &DestroyPool;
    api_.cuMemFree = &Free;
    api_.cuMemGetAddressRange = &AddressRange;
    context_ = SoftwareContext(api_);
    g_freed = 0;
    g_range_is_known = true;
  }

  absl::StatusOr<std::unique_ptr<PoolMemory>> Import() {
    return PoolMemory::Import(context_, UniqueFd(open("/dev/null", O_RDONLY)),
                              CUmemPoolPtrExportData());
  }

  cuda::DriverApi api_;
  std::shared_ptr<const cuda::Context> context_;
};

TEST_F(PoolMemoryTest, MemoryThatIsImportedTwiceIsFreedByTheLast) {
  ASSERT_OK_AND_ASSIGN(auto first, Import());
  ASSERT_OK_AND_ASSIGN(auto second, Import());
  EXPECT_EQ(first->address(), kAddress);
  EXPECT_EQ(second->address(), kAddress);
  EXPECT_EQ(second->size(), 4096u - 512);
  first = nullptr;
  EXPECT_TRUE(g_mapped);
  second = nullptr;
  EXPECT_EQ(g_freed, 1);
  EXPECT_EQ(g_pools, 0);
}

TEST_F(PoolMemoryTest, MemoryThatWasFreedIsImportedAnew) {
  for (int i = 1; i <= 2; ++i) {
    ASSERT_OK_AND_ASSIGN(auto memory, Import());
    EXPECT_TRUE(g_mapped);
    memory = nullptr;
    EXPECT_EQ(g_freed, i);
  }
}

TEST_F(PoolMemoryTest, AnImportThatFailsTakesNothingFromTheOther) {
  ASSERT_OK_AND_ASSIGN(auto first, Import());
  g_range_is_known = false;
  EXPECT_FALSE(Import().ok());
  EXPECT_TRUE(g_mapped);
  first = nullptr;
  EXPECT_EQ(g_freed, 1);
  EXPECT_EQ(g_pools, 0);
}

}  // namespace
}  // namespace holdfast::memory
