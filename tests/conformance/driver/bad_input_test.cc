// SPDX-License-Identifier: Apache-2.0
//
// The codes of calls of virtual memory, of IPC and of shared pools for inputs
// that CUDA does not take. The codes are those of CUDA's documentation and of
// an H200.
#include <functional>
#include <string>
#include <vector>

#include "tests/conformance/driver/api.h"

namespace holdfast::conformance {
namespace {

constexpr auto kDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

// A call and the code that it has to return.
struct Row {
  std::string name;
  CUresult expected;
  std::function<CUresult()> call;
};

void Check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    EXPECT_STREQ(Name(row.expected), Name(row.call())) << row.name;
  }
}

class BadInputTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.requestedHandleTypes = kDescriptor;
    properties_.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_};
    access_ = {properties_.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    ASSERT_OK(Cuda().cuMemGetAllocationGranularity(
        &size_, &properties_, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  }

  // Changes a copy of the properties, and creates memory of them.
  CUresult Create(const std::function<void(CUmemAllocationProp&)>& change) {
    CUmemAllocationProp properties = properties_;
    change(properties);
    CUmemGenericAllocationHandle handle = 0;
    return Cuda().cuMemCreate(&handle, size_, &properties, 0);
  }

  CUresult SetAccess(const std::function<void(CUmemAccessDesc&)>& change,
                     CUdeviceptr address) {
    CUmemAccessDesc access = access_;
    change(access);
    return Cuda().cuMemSetAccess(address, 2 * size_, &access, 1);
  }

  // The same for pools.
  CUresult CreatePool(const std::function<void(CUmemPoolProps&)>& change) {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.handleTypes = kDescriptor;
    properties.location = properties_.location;
    change(properties);
    CUmemoryPool pool = nullptr;
    return Cuda().cuMemPoolCreate(&pool, &properties);
  }

  CUmemAllocationProp properties_{};
  CUmemAccessDesc access_{};
  size_t size_ = 0;  // the granularity
};

TEST_F(BadInputTest, MemoryWithoutAddresses) {
  CUmemGenericAllocationHandle handle = 0;
  const auto invalid = CUDA_ERROR_INVALID_VALUE;
  Check({
      {"null handle", invalid,
       [&] { return Cuda().cuMemCreate(nullptr, size_, &properties_, 0); }},
      {"null properties", invalid,
       [&] { return Cuda().cuMemCreate(&handle, size_, nullptr, 0); }},
      {"size 0", invalid,
       [&] { return Cuda().cuMemCreate(&handle, 0, &properties_, 0); }},
      {"part of a granule", invalid,
       [&] { return Cuda().cuMemCreate(&handle, size_ + 1, &properties_, 0); }},
      {"flags", invalid,
       [&] { return Cuda().cuMemCreate(&handle, size_, &properties_, 1); }},
      {"more than there is", CUDA_ERROR_OUT_OF_MEMORY,
       [&] {
         return Cuda().cuMemCreate(&handle, size_t{1} << 50, &properties_, 0);
       }},
      {"type", invalid,
       [&] {
         return Create(
             [](auto& p) { p.type = CU_MEM_ALLOCATION_TYPE_INVALID; });
       }},
      {"location's type", invalid,
       [&] {
         return Create(
             [](auto& p) { p.location.type = CU_MEM_LOCATION_TYPE_INVALID; });
       }},
      {"no such device", CUDA_ERROR_INVALID_DEVICE,
       [&] { return Create([](auto& p) { p.location.id = 99; }); }},
      {"handle of another system", invalid,
       [&] {
         return Create([](auto& p) {
           p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_WIN32;
         });
       }},
  });
}

TEST_F(BadInputTest, Addresses) {
  CUdeviceptr address = 0;
  const auto reserve = [&](size_t size, size_t alignment, uint64_t flags) {
    return Cuda().cuMemAddressReserve(&address, size, alignment, 0, flags);
  };
  const auto invalid = CUDA_ERROR_INVALID_VALUE;
  Check({
      {"size 0", invalid, [&] { return reserve(0, 0, 0); }},
      {"part of a granule", invalid, [&] { return reserve(size_ + 1, 0, 0); }},
      {"alignment 3", invalid, [&] { return reserve(size_, 3, 0); }},
      {"alignment of 3 granules", invalid,
       [&] { return reserve(size_, 3 * size_, 0); }},
      {"flags", invalid, [&] { return reserve(size_, 0, 1); }},
      {"more than there are", CUDA_ERROR_OUT_OF_MEMORY,
       [&] { return reserve(size_t{1} << 60, 0, 0); }},
      {"not reserved", invalid,
       [&] { return Cuda().cuMemAddressFree(0x1000000, size_); }},
  });
  ASSERT_OK(reserve(4 * size_, 0, 0));
  Check({
      {"a part", invalid,
       [&] { return Cuda().cuMemAddressFree(address, size_); }},
      {"the rest", invalid,
       [&] { return Cuda().cuMemAddressFree(address + size_, 3 * size_); }},
      {"size 0", invalid, [&] { return Cuda().cuMemAddressFree(address, 0); }},
      {"all", CUDA_SUCCESS,
       [&] { return Cuda().cuMemAddressFree(address, 4 * size_); }},
      {"again", invalid,
       [&] { return Cuda().cuMemAddressFree(address, 4 * size_); }},
  });
}

TEST_F(BadInputTest, MappingsAndAccess) {
  CUmemGenericAllocationHandle handle = 0, retained = 0;
  ASSERT_OK(Cuda().cuMemCreate(&handle, 2 * size_, &properties_, 0));
  CUdeviceptr at = 0;
  ASSERT_OK(Cuda().cuMemAddressReserve(&at, 4 * size_, 0, 0, 0));
  const auto map = [&](CUdeviceptr address, size_t size, size_t offset,
                       uint64_t flags) {
    return Cuda().cuMemMap(address, size, offset, handle, flags);
  };
  unsigned long long flags = 0;
  const auto invalid = CUDA_ERROR_INVALID_VALUE;
  Check({
      {"size 0", invalid, [&] { return map(at, 0, 0, 0); }},
      {"a part", CUDA_ERROR_NOT_SUPPORTED,
       [&] { return map(at, size_, 0, 0); }},
      {"flags", invalid, [&] { return map(at, 2 * size_, 0, 1); }},
      {"not reserved", invalid,
       [&] { return map(0x1000000, 2 * size_, 0, 0); }},
      {"access of nothing", invalid,
       [&] { return SetAccess([](auto&) {}, at); }},
      {"mapped", CUDA_SUCCESS, [&] { return map(at, 2 * size_, 0, 0); }},
      {"mapped twice", invalid, [&] { return map(at, 2 * size_, 0, 0); }},
      {"overlap", invalid, [&] { return map(at + size_, 2 * size_, 0, 0); }},
      {"access of a part", invalid,
       [&] { return Cuda().cuMemSetAccess(at, size_, &access_, 1); }},
      {"access of more", invalid,
       [&] { return Cuda().cuMemSetAccess(at, 3 * size_, &access_, 1); }},
      {"no descriptions", invalid,
       [&] { return Cuda().cuMemSetAccess(at, 2 * size_, &access_, 0); }},
      {"flags 2", invalid,
       [&] {
         return SetAccess(
             [](auto& a) { a.flags = static_cast<CUmemAccess_flags>(2); }, at);
       }},
      {"access for no device", invalid,
       [&] { return SetAccess([](auto& a) { a.location.id = 99; }, at); }},
      {"access", CUDA_SUCCESS, [&] { return SetAccess([](auto&) {}, at); }},
      {"access of no device", CUDA_ERROR_INVALID_DEVICE,
       [&] {
         const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 99};
         return Cuda().cuMemGetAccess(&flags, &location, at);
       }},
      {"access where nothing is mapped", invalid,
       [&] {
         return Cuda().cuMemGetAccess(&flags, &access_.location,
                                      at + 3 * size_);
       }},
      {"unmap a part", invalid, [&] { return Cuda().cuMemUnmap(at, size_); }},
      {"free what is mapped as cuMemAlloc's", invalid,
       [&] { return Cuda().cuMemFree_v2(at); }},
  });
  // The handle is the one that the memory was mapped by, with a reference more.
  ASSERT_OK(Cuda().cuMemRetainAllocationHandle(
      &retained, reinterpret_cast<void*>(at + size_)));
  EXPECT_EQ(retained, handle);
  EXPECT_OK(Cuda().cuMemRelease(handle));
  CUmemAllocationProp properties{};
  EXPECT_OK(Cuda().cuMemGetAllocationPropertiesFromHandle(&properties, handle));
  EXPECT_OK(Cuda().cuMemRelease(retained));
  // Also where only a part is mapped.
  EXPECT_OK(Cuda().cuMemUnmap(at, 4 * size_));
  EXPECT_OK(Cuda().cuMemAddressFree(at, 4 * size_));
  EXPECT_CUDA(invalid, Cuda().cuMemUnmap(at, 2 * size_));
}

TEST_F(BadInputTest, ShareableHandles) {
  CUmemGenericAllocationHandle handle = 0, imported = 0;
  ASSERT_OK(Cuda().cuMemCreate(&handle, size_, &properties_, 0));
  int fd = -1;
  const auto export_as = [&](CUmemAllocationHandleType type, uint64_t flags) {
    return Cuda().cuMemExportToShareableHandle(&fd, handle, type, flags);
  };
  const auto invalid = CUDA_ERROR_INVALID_VALUE;
  Check({
      {"no type", invalid,
       [&] { return export_as(CU_MEM_HANDLE_TYPE_NONE, 0); }},
      {"not asked for", invalid,
       [&] { return export_as(CU_MEM_HANDLE_TYPE_FABRIC, 0); }},
      {"flags", invalid, [&] { return export_as(kDescriptor, 1); }},
      {"import of no type", invalid,
       [&] {
         return Cuda().cuMemImportFromShareableHandle(&imported, nullptr,
                                                      CU_MEM_HANDLE_TYPE_NONE);
       }},
  });
  EXPECT_OK(Cuda().cuMemRelease(handle));
}

TEST_F(BadInputTest, Pools) {
  const auto invalid = CUDA_ERROR_INVALID_VALUE;
  Check({
      {"location's type", invalid,
       [&] {
         return CreatePool(
             [](auto& p) { p.location.type = CU_MEM_LOCATION_TYPE_INVALID; });
       }},
      {"no such device", invalid,
       [&] { return CreatePool([](auto& p) { p.location.id = 99; }); }},
      {"handle of another system", invalid,
       [&] {
         return CreatePool(
             [](auto& p) { p.handleTypes = CU_MEM_HANDLE_TYPE_WIN32; });
       }},
      {"unknown handle", invalid,
       [&] {
         return CreatePool([](auto& p) {
           p.handleTypes = static_cast<CUmemAllocationHandleType>(64);
         });
       }},
  });
}

TEST_F(BadInputTest, Ipc) {
  CUdeviceptr memory = 0, opened = 0;
  ASSERT_OK(Cuda().cuMemAlloc_v2(&memory, 4096));
  CUipcMemHandle handle{}, bad{};
  for (char& byte : bad.reserved) byte = 90;
  ASSERT_OK(Cuda().cuIpcGetMemHandle(&handle, memory));
  const auto open = [&](const CUipcMemHandle& of, unsigned flags) {
    return Cuda().cuIpcOpenMemHandle_v2(&opened, of, flags);
  };
  CUevent plain = nullptr, shared = nullptr, again = nullptr;
  ASSERT_OK(Cuda().cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
  ASSERT_OK(Cuda().cuEventCreate(
      &shared, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
  CUipcEventHandle event{};
  const auto invalid = CUDA_ERROR_INVALID_VALUE;
  Check({
      {"no memory", invalid,
       [&] { return Cuda().cuIpcGetMemHandle(&handle, 0); }},
      {"own memory", CUDA_ERROR_INVALID_CONTEXT,
       [&] { return open(handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS); }},
      {"flags 0", invalid, [&] { return open(handle, 0); }},
      {"flags 8", invalid, [&] { return open(handle, 8); }},
      {"other bytes", invalid,
       [&] { return open(bad, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS); }},
      {"close what is not open", invalid,
       [&] { return Cuda().cuIpcCloseMemHandle(memory); }},
      {"event of this process alone", CUDA_ERROR_INVALID_HANDLE,
       [&] { return Cuda().cuIpcGetEventHandle(&event, plain); }},
      {"event", CUDA_SUCCESS,
       [&] { return Cuda().cuIpcGetEventHandle(&event, shared); }},
      {"own event", CUDA_ERROR_INVALID_CONTEXT,
       [&] { return Cuda().cuIpcOpenEventHandle(&again, event); }},
  });
  EXPECT_OK(Cuda().cuEventDestroy_v2(plain));
  EXPECT_OK(Cuda().cuEventDestroy_v2(shared));
  EXPECT_OK(Cuda().cuMemFree_v2(memory));
}

}  // namespace
}  // namespace holdfast::conformance
