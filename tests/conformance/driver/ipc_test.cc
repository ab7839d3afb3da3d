// SPDX-License-Identifier: Apache-2.0
//
// Memory, events and pools between two processes: the binary starts itself anew
// and hands its child a handle in the environment. The child writes what the
// parent then reads.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/conformance/driver/api.h"

namespace holdfast::conformance {
namespace {

constexpr char kHandle[] = "HOLDFAST_CONFORMANCE_HANDLE";
constexpr size_t kCount = 1000;

template <typename T>
std::string ToHex(const T& value) {
  std::string text;
  for (size_t i = 0; i < sizeof(value); ++i) {
    char digits[3];
    snprintf(digits, sizeof(digits), "%02x",
             reinterpret_cast<const unsigned char*>(&value)[i]);
    text += digits;
  }
  return text;
}

template <typename T>
T FromHex(const char* text) {
  T value{};
  for (size_t i = 0; i < sizeof(value); ++i) {
    unsigned byte = 0;
    sscanf(text + 2 * i, "%2x", &byte);
    reinterpret_cast<unsigned char*>(&value)[i] =
        static_cast<unsigned char>(byte);
  }
  return value;
}

// The calling test in another process, with this handle.
bool ChildPasses(const std::string& handle) {
  const testing::TestInfo& test =
      *testing::UnitTest::GetInstance()->current_test_info();
  const std::string filter = std::string("--gtest_filter=") +
                             test.test_suite_name() + "." + test.name();
  const pid_t child = fork();
  if (child == 0) {
    setenv(kHandle, handle.c_str(), 1);
    unsetenv("TEST_PREMATURE_EXIT_FILE");
    unsetenv("XML_OUTPUT_FILE");
    execl("/proc/self/exe", "conformance", filter.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The first kCount integers at an address of a device or of pinned memory.
std::vector<unsigned> Read(CUdeviceptr memory) {
  std::vector<unsigned> values(kCount);
  EXPECT_OK(Cuda().cuMemcpy(reinterpret_cast<CUdeviceptr>(values.data()),
                            memory, 4 * kCount));
  return values;
}

class IpcTest : public ContextTest {
 protected:
  const char* handle_ = getenv(kHandle);
};

TEST_F(IpcTest, MemoryIsOneForBothProcesses) {
  if (handle_ != nullptr) {
    const auto handle = FromHex<CUipcMemHandle>(handle_);
    CUdeviceptr memory = 0;
    ASSERT_OK(Cuda().cuIpcOpenMemHandle_v2(&memory, handle,
                                           CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    EXPECT_EQ(Read(memory), std::vector<unsigned>(kCount, 0x01010101));
    EXPECT_OK(Cuda().cuMemsetD32_v2(memory, 77, kCount));
    EXPECT_OK(Cuda().cuCtxSynchronize_v2(context_));
    EXPECT_OK(Cuda().cuIpcCloseMemHandle(memory));
    return;
  }
  CUdeviceptr memory = 0;
  ASSERT_OK(Cuda().cuMemAlloc_v2(&memory, 4 * kCount));
  ASSERT_OK(Cuda().cuMemsetD8_v2(memory, 1, 4 * kCount));
  ASSERT_OK(Cuda().cuCtxSynchronize_v2(context_));
  CUipcMemHandle handle;
  ASSERT_OK(Cuda().cuIpcGetMemHandle(&handle, memory));
  EXPECT_TRUE(ChildPasses(ToHex(handle)));
  EXPECT_EQ(Read(memory), std::vector<unsigned>(kCount, 77));
  EXPECT_OK(Cuda().cuMemFree_v2(memory));
}

TEST_F(IpcTest, OpeningTwiceGivesOneAddressThatIsClosedTwice) {
  if (handle_ != nullptr) {
    const auto handle = FromHex<CUipcMemHandle>(handle_);
    CUdeviceptr first = 0, second = 0;
    ASSERT_OK(Cuda().cuIpcOpenMemHandle_v2(&first, handle,
                                           CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    ASSERT_OK(Cuda().cuIpcOpenMemHandle_v2(&second, handle,
                                           CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    EXPECT_EQ(first, second);
    EXPECT_OK(Cuda().cuIpcCloseMemHandle(first));
    EXPECT_OK(Cuda().cuMemsetD32_v2(second, 5, kCount));
    EXPECT_OK(Cuda().cuIpcCloseMemHandle(second));
    return;
  }
  CUdeviceptr memory = 0;
  ASSERT_OK(Cuda().cuMemAlloc_v2(&memory, 4 * kCount));
  CUipcMemHandle handle;
  ASSERT_OK(Cuda().cuIpcGetMemHandle(&handle, memory));
  EXPECT_TRUE(ChildPasses(ToHex(handle)));
  EXPECT_OK(Cuda().cuMemFree_v2(memory));
}

TEST_F(IpcTest, OwnMemoryIsNotOpened) {
  CUdeviceptr memory = 0, again = 0;
  ASSERT_OK(Cuda().cuMemAlloc_v2(&memory, 64));
  CUipcMemHandle handle;
  ASSERT_OK(Cuda().cuIpcGetMemHandle(&handle, memory));
  EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT,
              Cuda().cuIpcOpenMemHandle_v2(&again, handle,
                                           CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  EXPECT_OK(Cuda().cuMemFree_v2(memory));
}

TEST_F(IpcTest, AnotherProcessWaitsForAnEvent) {
  if (handle_ != nullptr) {
    const auto handle = FromHex<CUipcEventHandle>(handle_);
    CUevent event = nullptr;
    ASSERT_OK(Cuda().cuIpcOpenEventHandle(&event, handle));
    EXPECT_OK(Cuda().cuStreamWaitEvent(nullptr, event, 0));
    EXPECT_OK(Cuda().cuEventSynchronize(event));
    EXPECT_OK(Cuda().cuEventQuery(event));
    EXPECT_OK(Cuda().cuStreamSynchronize(nullptr));
    EXPECT_OK(Cuda().cuEventDestroy_v2(event));
    return;
  }
  CUevent event = nullptr;
  ASSERT_OK(Cuda().cuEventCreate(
      &event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  ASSERT_OK(Cuda().cuEventRecord(event, nullptr));
  CUipcEventHandle handle;
  ASSERT_OK(Cuda().cuIpcGetEventHandle(&handle, event));
  EXPECT_TRUE(ChildPasses(ToHex(handle)));
  EXPECT_OK(Cuda().cuEventDestroy_v2(event));
}

TEST_F(IpcTest, EventsForOneProcessHaveNoHandle) {
  CUevent event = nullptr;
  ASSERT_OK(Cuda().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CUipcEventHandle handle;
  EXPECT_NE(Cuda().cuIpcGetEventHandle(&handle, event), CUDA_SUCCESS);
  EXPECT_OK(Cuda().cuEventDestroy_v2(event));
}

struct PoolPointer {
  int fd;
  CUmemPoolPtrExportData data;
};

// A device has none to pinned memory before.
void GiveAccess(CUmemoryPool pool, CUdevice device) {
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_OK(Cuda().cuMemPoolSetAccess(pool, &access, 1));
}

// Opens the memory of the parent's pool, checks it and changes it.
void UseImportedPool(CUdevice device, PoolPointer pointer) {
  CUmemoryPool pool = nullptr;
  ASSERT_OK(Cuda().cuMemPoolImportFromShareableHandle(
      &pool, reinterpret_cast<void*>(static_cast<intptr_t>(pointer.fd)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  GiveAccess(pool, device);
  CUdeviceptr memory = 0;
  EXPECT_NE(Cuda().cuMemAllocFromPoolAsync(&memory, 64, pool, nullptr),
            CUDA_SUCCESS);
  EXPECT_NE(Cuda().cuDeviceSetMemPool(device, pool), CUDA_SUCCESS);
  ASSERT_OK(Cuda().cuMemPoolImportPointer(&memory, pool, &pointer.data));
  EXPECT_EQ(Read(memory), std::vector<unsigned>(kCount, 9));
  EXPECT_OK(Cuda().cuMemsetD32_v2(memory, 88, kCount));
  EXPECT_OK(Cuda().cuMemFreeAsync(memory, nullptr));
  EXPECT_OK(Cuda().cuStreamSynchronize(nullptr));
  EXPECT_OK(Cuda().cuMemPoolDestroy(pool));
}

// Allocates from a pool of memory in this place, and has a child change it.
void SharePool(CUmemLocation location, CUdevice device) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = location;
  CUmemoryPool pool = nullptr;
  ASSERT_OK(Cuda().cuMemPoolCreate(&pool, &properties));
  GiveAccess(pool, device);
  // The second allocation does not begin where the pool's memory does.
  CUdeviceptr first = 0, memory = 0;
  ASSERT_OK(Cuda().cuMemAllocFromPoolAsync(&first, 4 * kCount, pool, nullptr));
  ASSERT_OK(Cuda().cuMemAllocFromPoolAsync(&memory, 4 * kCount, pool, nullptr));
  ASSERT_OK(Cuda().cuMemsetD32Async(memory, 9, kCount, nullptr));
  ASSERT_OK(Cuda().cuMemsetD32Async(first, 1, kCount, nullptr));
  ASSERT_OK(Cuda().cuStreamSynchronize(nullptr));
  PoolPointer pointer;
  ASSERT_OK(Cuda().cuMemPoolExportToShareableHandle(
      &pointer.fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  ASSERT_OK(Cuda().cuMemPoolExportPointer(&pointer.data, memory));
  // The child inherits the descriptor.
  fcntl(pointer.fd, F_SETFD, 0);
  EXPECT_TRUE(ChildPasses(ToHex(pointer)));
  EXPECT_EQ(Read(memory), std::vector<unsigned>(kCount, 88));
  EXPECT_EQ(Read(first), std::vector<unsigned>(kCount, 1));
  close(pointer.fd);
  EXPECT_OK(Cuda().cuMemFreeAsync(first, nullptr));
  EXPECT_OK(Cuda().cuMemFreeAsync(memory, nullptr));
  EXPECT_OK(Cuda().cuStreamSynchronize(nullptr));
  EXPECT_OK(Cuda().cuMemPoolDestroy(pool));
}

// Imports the parent's memory in two contexts, and ends the imports one by one.
void ImportInTwoContexts(CUcontext context, CUdevice device,
                         PoolPointer pointer) {
  CUmemoryPool pool = nullptr;
  ASSERT_OK(Cuda().cuMemPoolImportFromShareableHandle(
      &pool, reinterpret_cast<void*>(static_cast<intptr_t>(pointer.fd)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  GiveAccess(pool, device);
  CUdeviceptr memory = 0, again = 0;
  ASSERT_OK(Cuda().cuMemPoolImportPointer(&memory, pool, &pointer.data));
  CUcontext other = nullptr;
  ASSERT_OK(Cuda().cuCtxCreate_v4(&other, nullptr, 0, device));
  const CUresult second =
      Cuda().cuMemPoolImportPointer(&again, pool, &pointer.data);
  if (second == CUDA_ERROR_ALREADY_MAPPED) {
    // NVIDIA's driver (580) imports a pointer once a process.
    ASSERT_OK(Cuda().cuCtxSetCurrent(context));
    EXPECT_OK(Cuda().cuMemsetD32_v2(memory, 88, kCount));
    EXPECT_OK(Cuda().cuStreamSynchronize(nullptr));
    return;
  }
  ASSERT_OK(second);
  EXPECT_EQ(Read(again), std::vector<unsigned>(kCount, 9));
  ASSERT_OK(Cuda().cuCtxSetCurrent(context));
  EXPECT_OK(Cuda().cuMemFreeAsync(memory, nullptr));
  EXPECT_OK(Cuda().cuStreamSynchronize(nullptr));
  ASSERT_OK(Cuda().cuCtxSetCurrent(other));
  EXPECT_EQ(Read(again), std::vector<unsigned>(kCount, 9));
  EXPECT_OK(Cuda().cuMemsetD32_v2(again, 88, kCount));
  EXPECT_OK(Cuda().cuMemFreeAsync(again, nullptr));
  EXPECT_OK(Cuda().cuStreamSynchronize(nullptr));
  EXPECT_OK(Cuda().cuCtxDestroy_v2(other));
  ASSERT_OK(Cuda().cuCtxSetCurrent(context));
  EXPECT_OK(Cuda().cuMemPoolDestroy(pool));
}

TEST_F(IpcTest, PoolsShareTheirAllocations) {
  if (handle_ != nullptr) {
    UseImportedPool(device_, FromHex<PoolPointer>(handle_));
    return;
  }
  SharePool({CU_MEM_LOCATION_TYPE_DEVICE, device_}, device_);
}

TEST_F(IpcTest, PoolsOfPinnedMemoryShareTheirAllocations) {
  if (handle_ != nullptr) {
    UseImportedPool(device_, FromHex<PoolPointer>(handle_));
    return;
  }
  SharePool({CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}, device_);
}

TEST_F(IpcTest, TwoContextsImportFromOnePool) {
  if (handle_ != nullptr) {
    ImportInTwoContexts(context_, device_, FromHex<PoolPointer>(handle_));
    return;
  }
  SharePool({CU_MEM_LOCATION_TYPE_DEVICE, device_}, device_);
}

TEST_F(IpcTest, TwoContextsImportFromOnePoolOfPinnedMemory) {
  if (handle_ != nullptr) {
    ImportInTwoContexts(context_, device_, FromHex<PoolPointer>(handle_));
    return;
  }
  SharePool({CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}, device_);
}

}  // namespace
}  // namespace holdfast::conformance
