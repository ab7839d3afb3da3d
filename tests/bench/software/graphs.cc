// SPDX-License-Identifier: Apache-2.0
//
// Graphs of a CUDA driver beside single launches of the same kernels, in one
// process and in turn:
//
//   graphs [LIBRARY]    a driver; by default the software driver of this build
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "cuda.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr char kPtx[] = R"(
.version 7.0
.target sm_75
.address_size 64

.visible .entry add(.param .u64 p_to)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p_to];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    add.s32 %r3, %r2, 1;
    st.global.u32 [%rd3], %r3;
    ret;
}

.visible .entry spin(.param .u64 p_to, .param .u32 p_rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p_to];
    ld.param.u32 %r1, [p_rounds];
    mov.u32 %r2, %tid.x;
LOOP:
    mad.lo.u32 %r2, %r2, 1664525, 1013904223;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra LOOP;
    st.global.u32 [%rd1], %r2;
    ret;
}
)";

constexpr unsigned kThreads = 128;

void Check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: CUresult %d\n", call, result);
  exit(1);
}
#define CHECK_CUDA(call) Check(call, #call)

// The functions that this program calls, by the names of cuda.h.
class Api {
 public:
  explicit Api(const char* path) {
    void* library = dlopen(path, RTLD_NOW);
    if (library == nullptr) {
      fprintf(stderr, "%s\n", dlerror());
      exit(1);
    }
    find_ = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(
        dlsym(library, "cuGetProcAddress_v2"));
#define FIND(name, symbol) \
  symbol = reinterpret_cast<decltype(&::symbol)>(Find(#name))
    FIND(cuInit, cuInit);
    FIND(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain);
    FIND(cuCtxSetCurrent, cuCtxSetCurrent);
    FIND(cuModuleLoadData, cuModuleLoadData);
    FIND(cuModuleGetFunction, cuModuleGetFunction);
    FIND(cuMemAlloc, cuMemAlloc_v2);
    FIND(cuStreamCreate, cuStreamCreate);
    FIND(cuStreamSynchronize, cuStreamSynchronize);
    FIND(cuLaunchKernel, cuLaunchKernel);
    FIND(cuGraphCreate, cuGraphCreate);
    FIND(cuGraphDestroy, cuGraphDestroy);
    FIND(cuGraphAddKernelNode, cuGraphAddKernelNode_v2);
    FIND(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags);
    FIND(cuGraphExecDestroy, cuGraphExecDestroy);
    FIND(cuGraphLaunch, cuGraphLaunch);
#undef FIND
  }

#define MEMBER(symbol) decltype(&::symbol) symbol = nullptr
  MEMBER(cuInit);
  MEMBER(cuDevicePrimaryCtxRetain);
  MEMBER(cuCtxSetCurrent);
  MEMBER(cuModuleLoadData);
  MEMBER(cuModuleGetFunction);
  MEMBER(cuMemAlloc_v2);
  MEMBER(cuStreamCreate);
  MEMBER(cuStreamSynchronize);
  MEMBER(cuLaunchKernel);
  MEMBER(cuGraphCreate);
  MEMBER(cuGraphDestroy);
  MEMBER(cuGraphAddKernelNode_v2);
  MEMBER(cuGraphInstantiateWithFlags);
  MEMBER(cuGraphExecDestroy);
  MEMBER(cuGraphLaunch);
#undef MEMBER

 private:
  void* Find(const char* name) {
    void* function = nullptr;
    CUdriverProcAddressQueryResult status;
    CHECK_CUDA(find_(name, &function, 13000, 0, &status));
    return function;
  }

  decltype(&cuGetProcAddress_v2) find_ = nullptr;
};

double Microseconds(const std::function<void()>& work) {
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double, std::micro>(Clock::now() - start)
      .count();
}

// The least time of each side; the sides take turns.
struct Pair {
  double first = 1e300, second = 1e300;
};
Pair Compare(int rounds, const std::function<void()>& first,
             const std::function<void()>& second) {
  Pair least;
  for (int i = 0; i < rounds; ++i) {
    least.first = std::min(least.first, Microseconds(first));
    least.second = std::min(least.second, Microseconds(second));
  }
  return least;
}

class Bench {
 public:
  explicit Bench(const char* library) : api_(library) {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CHECK_CUDA(api_.cuInit(0));
    CHECK_CUDA(api_.cuDevicePrimaryCtxRetain(&context, 0));
    CHECK_CUDA(api_.cuCtxSetCurrent(context));
    CHECK_CUDA(api_.cuModuleLoadData(&module, kPtx));
    CHECK_CUDA(api_.cuModuleGetFunction(&add_, module, "add"));
    CHECK_CUDA(api_.cuModuleGetFunction(&spin_, module, "spin"));
    CHECK_CUDA(api_.cuMemAlloc_v2(&memory_, 1 << 20));
    CHECK_CUDA(api_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }

  // `kernels` small kernels in a row, 20 times between two waits.
  void Chain(int kernels) {
    constexpr int kRuns = 20;
    void* values[] = {&memory_};
    const CUgraphExec exec = Make(add_, values, kernels, /*chain=*/true);
    const Pair least = Compare(
        30,
        [&] {
          for (int i = 0; i < kernels * kRuns; ++i) Launch(add_, values);
          CHECK_CUDA(api_.cuStreamSynchronize(stream_));
        },
        [&] {
          for (int i = 0; i < kRuns; ++i) {
            CHECK_CUDA(api_.cuGraphLaunch(exec, stream_));
          }
          CHECK_CUDA(api_.cuStreamSynchronize(stream_));
        });
    double call = 1e300;
    for (int i = 0; i < 30; ++i) {
      call = std::min(call, Microseconds([&] {
                        CHECK_CUDA(api_.cuGraphLaunch(exec, stream_));
                      }));
      CHECK_CUDA(api_.cuStreamSynchronize(stream_));
    }
    printf("| chain of %d small kernels | %.2f | %.2f | %.2f | %.2f |\n",
           kernels, least.first / kRuns, least.second / kRuns,
           least.first / least.second, call);
    CHECK_CUDA(api_.cuGraphExecDestroy(exec));
  }

  // `kernels` of one block and about a millisecond each: as a chain, and side
  // by side.
  void Wide(int kernels) {
    unsigned rounds = 300000;
    void* values[] = {&memory_, &rounds};
    const CUgraphExec chain = Make(spin_, values, kernels, /*chain=*/true);
    const CUgraphExec wide = Make(spin_, values, kernels, /*chain=*/false);
    const auto run = [&](CUgraphExec exec) {
      CHECK_CUDA(api_.cuGraphLaunch(exec, stream_));
      CHECK_CUDA(api_.cuStreamSynchronize(stream_));
    };
    const Pair least = Compare(
        10, [&] { run(chain); }, [&] { run(wide); });
    printf(
        "| %d kernels of one block: chain, side by side | %.2f | %.2f | "
        "%.2f | |\n",
        kernels, least.first, least.second, least.first / least.second);
    CHECK_CUDA(api_.cuGraphExecDestroy(chain));
    CHECK_CUDA(api_.cuGraphExecDestroy(wide));
  }

 private:
  void Launch(CUfunction kernel, void** values) {
    CHECK_CUDA(api_.cuLaunchKernel(kernel, 1, 1, 1, kThreads, 1, 1, 0, stream_,
                                   values, nullptr));
  }

  CUgraphExec Make(CUfunction kernel, void** values, int kernels, bool chain) {
    CUgraph graph = nullptr;
    CHECK_CUDA(api_.cuGraphCreate(&graph, 0));
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = kernel;
    node.gridDimX = node.gridDimY = node.gridDimZ = 1;
    node.blockDimX = kThreads;
    node.blockDimY = node.blockDimZ = 1;
    node.kernelParams = values;
    CUgraphNode last = nullptr;
    for (int i = 0; i < kernels; ++i) {
      const size_t after = chain && i > 0 ? 1 : 0;
      const CUgraphNode before = last;
      CHECK_CUDA(
          api_.cuGraphAddKernelNode_v2(&last, graph, &before, after, &node));
    }
    CUgraphExec exec = nullptr;
    CHECK_CUDA(api_.cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK_CUDA(api_.cuGraphDestroy(graph));
    return exec;
  }

  Api api_;
  CUfunction add_ = nullptr, spin_ = nullptr;
  CUdeviceptr memory_ = 0;
  CUstream stream_ = nullptr;
};

}  // namespace

int main(int count, char** arguments) {
  Bench bench(count > 1 ? arguments[1]
                        : "bazel-bin/core/software/libholdfast_software.so");
  printf("| what | launches, us | graph, us | ratio | call, us |\n");
  printf("| --- | --- | --- | --- | --- |\n");
  for (const int kernels : {1, 20, 100, 1000}) bench.Chain(kernels);
  for (const int kernels : {2, 16}) bench.Wide(kernels);
  return 0;
}
