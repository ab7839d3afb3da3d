// SPDX-License-Identifier: Apache-2.0
//
// A fault ends a process's use of the device, so each test has a process of
// its own: the binary starts itself anew and tells the child by environment
// what to do. A fork would not do: a driver does not survive it.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/conformance/driver/api.h"
#include "tests/conformance/driver/kernels.h"

namespace holdfast::conformance {
namespace {

constexpr char kChild[] = "HOLDFAST_CONFORMANCE_CHILD";

// Runs `test` of this binary in a process of its own; its exit status.
int RunChild(const char* test) {
  const pid_t child = fork();
  if (child == 0) {
    setenv(kChild, "1", 1);
    const std::string filter = std::string("--gtest_filter=") + test;
    execl("/proc/self/exe", "conformance", filter.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// In the parent: runs the calling test in a child and checks that it passed.
// In the child: false.
bool InParent() {
  if (getenv(kChild) != nullptr) return false;
  const testing::TestInfo& test =
      *testing::UnitTest::GetInstance()->current_test_info();
  const std::string name =
      std::string(test.test_suite_name()) + "." + test.name();
  const int status = RunChild(name.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << name << " failed in its process, wait status " << status;
  return true;
}

CUfunction LoadStore() {
  CUmodule module = nullptr;
  CUfunction store = nullptr;
  EXPECT_OK(Cuda().cuModuleLoadData(&module, kPtx));
  EXPECT_OK(Cuda().cuModuleGetFunction(&store, module, "store"));
  return store;
}

CUresult StoreTo(CUfunction store, CUdeviceptr address) {
  unsigned value = 1;
  void* values[] = {&address, &value};
  return Cuda().cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, nullptr, values,
                               nullptr);
}

CUcontext MakeContext() {
  CUcontext context = nullptr;
  EXPECT_OK(Cuda().cuInit(0));
  EXPECT_OK(Cuda().cuDevicePrimaryCtxRetain(&context, 0));
  EXPECT_OK(Cuda().cuCtxSetCurrent(context));
  return context;
}

TEST(UninitializedTest, NothingWorksBeforeInit) {
  if (InParent()) return;
  int count = 0;
  CUcontext context = nullptr;
  EXPECT_CUDA(CUDA_ERROR_NOT_INITIALIZED, Cuda().cuDeviceGetCount(&count));
  EXPECT_CUDA(CUDA_ERROR_NOT_INITIALIZED, Cuda().cuCtxGetCurrent(&context));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Cuda().cuInit(1));
  EXPECT_OK(Cuda().cuInit(0));
  EXPECT_OK(Cuda().cuDeviceGetCount(&count));
}

TEST(FaultTest, IllegalAddressSticksToTheProcess) {
  if (InParent()) return;
  const CUcontext context = MakeContext();
  const CUfunction store = LoadStore();
  CUdeviceptr memory = 0;
  ASSERT_OK(Cuda().cuMemAlloc_v2(&memory, 4096));
  ASSERT_OK(StoreTo(store, 16));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, Cuda().cuCtxSynchronize_v2(context));
  CUdeviceptr other = 0;
  CUstream stream = nullptr;
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, Cuda().cuMemAlloc_v2(&other, 16));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, StoreTo(store, memory));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, Cuda().cuMemsetD8_v2(memory, 0, 16));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, Cuda().cuStreamCreate(&stream, 0));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, Cuda().cuStreamQuery(nullptr));
  // Calls that need no context still work.
  int value = 0;
  EXPECT_OK(
      Cuda().cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
}

// Memory of the process that nobody has told the driver about.
TEST(FaultTest, MemoryOfTheHostIsAnIllegalAddress) {
  if (InParent()) return;
  const CUcontext context = MakeContext();
  int pageable = 0;
  ASSERT_OK(Cuda().cuDeviceGetAttribute(
      &pageable, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0));
  if (pageable != 0) GTEST_SKIP() << "kernels reach all memory of the process";
  const CUfunction store = LoadStore();
  volatile unsigned on_the_stack = 42;
  ASSERT_OK(StoreTo(store, reinterpret_cast<CUdeviceptr>(&on_the_stack)));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, Cuda().cuCtxSynchronize_v2(context));
  EXPECT_EQ(on_the_stack, 42u);
  CUdeviceptr other = 0;
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, Cuda().cuMemAlloc_v2(&other, 16));
}

TEST(FaultTest, AMisalignedAddressSticksToTheProcess) {
  if (InParent()) return;
  const CUcontext context = MakeContext();
  const CUfunction store = LoadStore();
  CUdeviceptr memory = 0, other = 0;
  ASSERT_OK(Cuda().cuMemAlloc_v2(&memory, 4096));
  ASSERT_OK(StoreTo(store, memory + 2));
  EXPECT_CUDA(CUDA_ERROR_MISALIGNED_ADDRESS,
              Cuda().cuCtxSynchronize_v2(context));
  EXPECT_CUDA(CUDA_ERROR_MISALIGNED_ADDRESS, Cuda().cuMemAlloc_v2(&other, 16));
}

TEST(FaultTest, WriteBehindTheLastAllocationIsFound) {
  if (InParent()) return;
  const CUcontext context = MakeContext();
  const CUfunction store = LoadStore();
  CUdeviceptr memory = 0;
  ASSERT_OK(Cuda().cuMemAlloc_v2(&memory, 4 << 20));
  // Further than any device's pages reach.
  ASSERT_OK(StoreTo(store, memory + (size_t{1} << 36)));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, Cuda().cuCtxSynchronize_v2(context));
}

// sum(n) = n + sum(n - 1), by calls that nest.
constexpr char kNested[] = R"(
.version 7.0
.target sm_75
.address_size 64
.func (.param .b32 result) sum(.param .b32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    ld.param.b32 %r1, [n];
    mov.u32 %r4, 0;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra DONE;
    sub.u32 %r2, %r1, 1;
    {
    .param .b32 argument;
    .param .b32 back;
    st.param.b32 [argument], %r2;
    call (back), sum, (argument);
    ld.param.b32 %r3, [back];
    }
    add.u32 %r4, %r3, %r1;
DONE:
    st.param.b32 [result], %r4;
    ret;
}
.visible .entry nested(.param .u64 p_to, .param .u32 p_n)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p_to];
    ld.param.u32 %r1, [p_n];
    {
    .param .b32 argument;
    .param .b32 back;
    st.param.b32 [argument], %r1;
    call (back), sum, (argument);
    ld.param.b32 %r2, [back];
    }
    st.global.u32 [%rd1], %r2;
    ret;
}
)";

CUresult RunNested(CUdeviceptr to, unsigned depth) {
  CUmodule module = nullptr;
  CUfunction nested = nullptr;
  EXPECT_OK(Cuda().cuModuleLoadData(&module, kNested));
  EXPECT_OK(Cuda().cuModuleGetFunction(&nested, module, "nested"));
  void* values[] = {&to, &depth};
  EXPECT_OK(Cuda().cuLaunchKernel(nested, 1, 1, 1, 1, 1, 1, 0, nullptr, values,
                                  nullptr));
  return Cuda().cuStreamSynchronize(nullptr);
}

// Frames of a few dozen bytes: too many for 1 KiB, few enough for 256.
constexpr unsigned kDeep = 3000;

TEST(FaultTest, CallsMayNestAsDeepAsTheStackLimitAllows) {
  if (InParent()) return;
  MakeContext();
  CUdeviceptr memory = 0;
  unsigned sum = 0;
  ASSERT_OK(Cuda().cuMemAlloc_v2(&memory, 4));
  ASSERT_OK(RunNested(memory, 10));
  ASSERT_OK(Cuda().cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 256 << 10));
  ASSERT_OK(RunNested(memory, kDeep));
  ASSERT_OK(Cuda().cuMemcpyDtoH_v2(&sum, memory, 4));
  EXPECT_EQ(sum, kDeep * (kDeep + 1) / 2);
  EXPECT_NE(Cuda().cuCtxSetLimit(CU_LIMIT_STACK_SIZE, size_t{1} << 30),
            CUDA_SUCCESS);
}

TEST(FaultTest, CallsThatNestTooDeepAreAFault) {
  if (InParent()) return;
  MakeContext();
  CUdeviceptr memory = 0;
  ASSERT_OK(Cuda().cuMemAlloc_v2(&memory, 4));
  const CUresult fault = RunNested(memory, kDeep);
  EXPECT_NE(fault, CUDA_SUCCESS);
  EXPECT_CUDA(fault, Cuda().cuMemAlloc_v2(&memory, 4));
}

TEST(FaultTest, WorkBehindAFaultIsNotDone) {
  if (InParent()) return;
  const CUcontext context = MakeContext();
  const CUfunction store = LoadStore();
  void* pinned = nullptr;
  ASSERT_OK(Cuda().cuMemHostAlloc(&pinned, 4096, 0));
  auto* word = static_cast<volatile unsigned*>(pinned);
  *word = 5;
  ASSERT_OK(StoreTo(store, 16));
  // May already report the fault; it must not be done in any case.
  StoreTo(store, reinterpret_cast<CUdeviceptr>(pinned));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, Cuda().cuCtxSynchronize_v2(context));
  EXPECT_EQ(*word, 5u);
}

}  // namespace
}  // namespace holdfast::conformance
