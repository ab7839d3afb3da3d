// SPDX-License-Identifier: Apache-2.0
//
// Tests the behaviour of the runtime that programs/ do not show. The test
// registers a module as nvcc's host code does.
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cuda.h"
#include "cuda_runtime_api.h"
#include "fatbinary_section.h"
#include "gtest/gtest.h"

extern "C" {

void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaUnregisterFatBinary(void**);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int,
                            uint3*, uint3*, dim3*, dim3*, int*);
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int,
                       int);
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t,
                              int, int);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, void*);
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*);
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*);
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t,
                               cudaStream_t);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t, dim3, dim3, void**, size_t,
                                    cudaStream_t);
cudaError_t cudaMemcpy_ptds(void*, const void*, size_t, cudaMemcpyKind);
cudaError_t cudaStreamGetId_ptsz(cudaStream_t, unsigned long long*);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t);

}  // extern "C"

namespace {

// increment: adds 1 to `counter` and stores it. fault: stores to address 8.
constexpr char kPtx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 counter = 5;
.visible .entry increment(.param .u64 to)
{
  .reg .u64 %p<3>;
  .reg .u32 %r<3>;
  ld.param.u64 %p1, [to];
  cvta.to.global.u64 %p2, %p1;
  ld.global.u32 %r1, [counter];
  add.u32 %r2, %r1, 1;
  st.global.u32 [counter], %r2;
  st.global.u32 [%p2], %r2;
  ret;
}
.visible .entry fault()
{
  .reg .u64 %p<2>;
  .reg .u32 %r<2>;
  mov.u64 %p1, 8;
  mov.u32 %r1, 1;
  st.global.u32 [%p1], %r1;
  ret;
}
)";

// Stubs, shadows and their registration, as nvcc makes them for a module. The
// stubs differ, so that no linker makes one function of them.
void IncrementStub() {}
void FaultStub() { std::abort(); }
void MissingStub() { std::exit(1); }
char counter[4];

template <typename Function>
const void* AddressOf(Function* function) {
  return reinterpret_cast<const void*>(function);
}

class Registration {
 public:
  Registration() : wrapper_{FATBINC_MAGIC, FATBINC_VERSION, nullptr, nullptr} {
    wrapper_.data = reinterpret_cast<const unsigned long long*>(kPtx);
    handle_ = __cudaRegisterFatBinary(&wrapper_);
    AddKernel(&IncrementStub, "increment");
    AddKernel(&FaultStub, "fault");
    AddKernel(&MissingStub, "missing");
    __cudaRegisterVar(handle_, counter, counter, "counter", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle_);
  }
  ~Registration() { __cudaUnregisterFatBinary(handle_); }

  void** handle() { return handle_; }

 private:
  void AddKernel(void (*stub)(), const char* name) {
    __cudaRegisterFunction(handle_, static_cast<const char*>(AddressOf(stub)),
                           const_cast<char*>(name), name, -1, nullptr, nullptr,
                           nullptr, nullptr, nullptr);
  }

  __fatBinC_Wrapper_t wrapper_;
  void** handle_;
};

cudaError_t Launch(void (*stub)(), void** arguments) {
  return cudaLaunchKernel(AddressOf(stub), dim3(1), dim3(1), arguments, 0,
                          nullptr);
}

// Launches `increment` and returns what it stores. -1: an error.
int Increment() {
  void* memory = nullptr;
  int value = -1;
  void* arguments[] = {&memory};
  if (cudaMalloc(&memory, sizeof(value)) != cudaSuccess ||
      Launch(&IncrementStub, arguments) != cudaSuccess ||
      cudaMemcpy(&value, memory, sizeof(value), cudaMemcpyDeviceToHost) !=
          cudaSuccess) {
    return -1;
  }
  cudaFree(memory);
  return value;
}

TEST(ErrorTest, IsTheThreadsOwn) {
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  std::thread([] {
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    EXPECT_EQ(cudaMalloc(nullptr, 4), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }).join();
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetDevice(nullptr), cudaErrorInvalidValue);
  int device = -1;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(ErrorTest, HasNames) {
  EXPECT_STREQ(cudaGetErrorName(cudaSuccess), "cudaSuccess");
  EXPECT_STREQ(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(5000)),
               "unrecognized error code");
}

TEST(ErrorTest, FunctionsThatAreNotServedReturnNotSupported) {
  EXPECT_EQ(cudaImportExternalMemory(nullptr, nullptr), cudaErrorNotSupported);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
  EXPECT_EQ(cudaGetExportTable(nullptr, nullptr), cudaErrorNotSupported);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
}

TEST(VersionTest, IsThatOfTheHeader) {
  int version = 0;
  EXPECT_EQ(cudaRuntimeGetVersion(&version), cudaSuccess);
  EXPECT_EQ(version, CUDART_VERSION);
  EXPECT_EQ(cudaDriverGetVersion(&version), cudaSuccess);
  EXPECT_GE(version, 13000);
}

TEST(ModuleTest, LoadsOnceForManyThreads) {
  Registration registration;
  std::vector<std::thread> threads;
  std::vector<int> values(8);
  for (int& value : values) {
    threads.emplace_back([&value] { value = Increment(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int value : values) EXPECT_GT(value, 5);
  EXPECT_EQ(Increment(), 14);
}

TEST(ModuleTest, ReloadsAfterReset) {
  Registration registration;
  EXPECT_EQ(Increment(), 6);
  EXPECT_EQ(Increment(), 7);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(Increment(), 6);
  int value = 0;
  EXPECT_EQ(cudaMemcpyFromSymbol(&value, counter, 4, 0, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(value, 6);
}

TEST(ModuleTest, OtherThreadsFollowAReset) {
  Registration registration;
  EXPECT_EQ(Increment(), 6);
  std::thread([] {
    EXPECT_EQ(Increment(), 7);
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  }).join();
  EXPECT_EQ(Increment(), 6);
}

TEST(ModuleTest, EndsWithItsRegistration) {
  {
    Registration registration;
    EXPECT_EQ(Increment(), 6);
  }
  EXPECT_EQ(Launch(&IncrementStub, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  size_t size = 0;
  EXPECT_EQ(cudaGetSymbolSize(&size, counter), cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidSymbol);
  Registration registration;
  EXPECT_EQ(Increment(), 6);
}

TEST(ModuleTest, RefusesManagedVariables) {
  Registration registration;
  void* shadow = nullptr;
  testing::internal::CaptureStderr();
  __cudaRegisterManagedVar(registration.handle(), &shadow, counter, "shared", 0,
                           4, 0, 0);
  EXPECT_EQ(Launch(&IncrementStub, nullptr), cudaErrorNotSupported);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("shared is a"),
            std::string::npos);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
}

TEST(LaunchTest, ByHandles) {
  Registration registration;
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 4), cudaSuccess);
  void* arguments[] = {&memory};
  cudaKernel_t kernel = nullptr;
  cudaFunction_t function = nullptr;
  ASSERT_EQ(cudaGetKernel(&kernel, AddressOf(&IncrementStub)), cudaSuccess);
  ASSERT_EQ(cudaGetFuncBySymbol(&function, AddressOf(&IncrementStub)),
            cudaSuccess);
  for (const void* handle :
       {static_cast<const void*>(kernel), static_cast<const void*>(function)}) {
    EXPECT_EQ(cudaLaunchKernel(handle, dim3(1), dim3(1), arguments, 0, nullptr),
              cudaSuccess);
  }
  EXPECT_EQ(__cudaGetKernel(&kernel, AddressOf(&IncrementStub)), cudaSuccess);
  EXPECT_EQ(__cudaLaunchKernel(kernel, dim3(1), dim3(1), arguments, 0, nullptr),
            cudaSuccess);
  const char* name = nullptr;
  EXPECT_EQ(cudaFuncGetName(&name, AddressOf(&IncrementStub)), cudaSuccess);
  EXPECT_STREQ(name, "increment");
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(Increment(), 9);
  EXPECT_EQ(Launch(&MissingStub, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
}

TEST(LaunchTest, ConfigurationsNest) {
  const dim3 outer(2), inner(3);
  EXPECT_EQ(__cudaPushCallConfiguration(outer, outer, 1, nullptr), 0u);
  EXPECT_EQ(__cudaPushCallConfiguration(inner, inner, 2, nullptr), 0u);
  dim3 grid, block;
  size_t shared_memory = 0;
  cudaStream_t stream = nullptr;
  for (const dim3 expected : {inner, outer}) {
    EXPECT_EQ(
        __cudaPopCallConfiguration(&grid, &block, &shared_memory, &stream),
        cudaSuccess);
    EXPECT_EQ(grid.x, expected.x);
  }
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared_memory, &stream),
            cudaErrorMissingConfiguration);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMissingConfiguration);
}

TEST(StreamTest, FormsForPerThreadDefaultStreams) {
  unsigned long long legacy = 0, per_thread = 0, null = 0;
  ASSERT_EQ(cudaStreamGetId(cudaStreamLegacy, &legacy), cudaSuccess);
  ASSERT_EQ(cudaStreamGetId(cudaStreamPerThread, &per_thread), cudaSuccess);
  EXPECT_NE(legacy, per_thread);
  EXPECT_EQ(cudaStreamGetId(nullptr, &null), cudaSuccess);
  EXPECT_EQ(null, legacy);
  EXPECT_EQ(cudaStreamGetId_ptsz(nullptr, &null), cudaSuccess);
  EXPECT_EQ(null, per_thread);

  Registration registration;
  void* memory = nullptr;
  int value = 0;
  ASSERT_EQ(cudaMalloc(&memory, 4), cudaSuccess);
  void* arguments[] = {&memory};
  cudaKernel_t kernel = nullptr;
  ASSERT_EQ(__cudaGetKernel(&kernel, AddressOf(&IncrementStub)), cudaSuccess);
  EXPECT_EQ(
      __cudaLaunchKernel_ptsz(kernel, dim3(1), dim3(1), arguments, 0, nullptr),
      cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize_ptsz(nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemcpy_ptds(&value, memory, 4, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(value, 6);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

// The driver that the runtime has loaded.
template <typename Function>
Function* FindInDriver(const char* name) {
  void* function = nullptr;
  EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &function, 13000,
                                             cudaEnableDefault, nullptr),
            cudaSuccess);
  return reinterpret_cast<Function*>(function);
}

TEST(ContextTest, RespectsTheProgramsOwn) {
  const auto get = FindInDriver<CUresult(CUcontext*)>("cuCtxGetCurrent");
  const auto set = FindInDriver<CUresult(CUcontext)>("cuCtxSetCurrent");
  const auto create = FindInDriver<CUresult(CUcontext*, CUctxCreateParams*,
                                            unsigned, CUdevice)>("cuCtxCreate");
  const auto destroy = FindInDriver<CUresult(CUcontext)>("cuCtxDestroy");
  std::thread([=] {
    CUcontext own = nullptr, current = nullptr;
    ASSERT_EQ(create(&own, nullptr, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
    EXPECT_EQ(get(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, own);
    Registration registration;
    EXPECT_EQ(Increment(), 6);
    ASSERT_EQ(set(nullptr), CUDA_SUCCESS);
    // The primary context has the module's variables once more.
    EXPECT_EQ(Increment(), 6);
    EXPECT_EQ(get(&current), CUDA_SUCCESS);
    EXPECT_NE(current, own);
    EXPECT_EQ(destroy(own), CUDA_SUCCESS);
  }).join();
}

TEST(ContextTest, IsThePrimaryOneOfTheDevice) {
  const auto get = FindInDriver<CUresult(CUcontext*)>("cuCtxGetCurrent");
  const auto retain =
      FindInDriver<CUresult(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain");
  const auto release =
      FindInDriver<CUresult(CUdevice)>("cuDevicePrimaryCtxRelease");
  std::thread([=] {
    CUcontext current = nullptr, primary = nullptr;
    EXPECT_EQ(get(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, nullptr);
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, 0);
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
    EXPECT_EQ(get(&current), CUDA_SUCCESS);
    ASSERT_EQ(retain(&primary, 0), CUDA_SUCCESS);
    EXPECT_EQ(current, primary);
    EXPECT_EQ(release(0), CUDA_SUCCESS);
  }).join();
}

TEST(CopyTest, RowsOfNothingAreNotLookedAt) {
  char host[16] = {};
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, sizeof host), cudaSuccess);
  constexpr cudaMemcpyKind kIn = cudaMemcpyHostToDevice;
  EXPECT_EQ(cudaMemcpy2D(device, 2, host, 2, 4, 2, kIn),
            cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaMemcpy2D(device, 2, host, 2, 4, 1, kIn), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2D(device, 2, host, 2, 4, 0, kIn), cudaSuccess);
  EXPECT_EQ(cudaMemcpy2D(device, 2, host, 2, 0, 2, kIn), cudaSuccess);
  const cudaMemcpy3DParms nothing{};
  EXPECT_EQ(cudaMemcpy3D(&nothing), cudaSuccess);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
}

TEST(ContextTest, HostMemoryCanBeMapped) {
  unsigned flags = 0;
  EXPECT_EQ(cudaGetDeviceFlags(&flags), cudaSuccess);
  EXPECT_EQ(flags & cudaDeviceMapHost, cudaDeviceMapHost);
}

// Ends the process's use of the device, so that it is the last one.
TEST(StickyErrorTest, StaysInAllThreads) {
  Registration registration;
  EXPECT_EQ(Launch(&FaultStub, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "as NVIDIA's runtime has it";
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaFree(nullptr), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaFreeHost(nullptr), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaFreeArray(nullptr), cudaSuccess);
  std::thread([] {
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  }).join();
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess) << "as NVIDIA's runtime has it";
}

}  // namespace
