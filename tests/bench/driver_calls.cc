// SPDX-License-Identifier: Apache-2.0
//
// The time of calls of the CUDA driver, from whichever libcuda.so.1 the program
// finds: NVIDIA's, or Holdfast's in front of a daemon (`holdfast exec`).
// Prints a line a figure. RESULTS.md has both side by side.
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

constexpr char kKernel[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry nothing(.param .u64 unused) { ret; }
)";

using Clock = std::chrono::steady_clock;

void Check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s returned %d\n", call, result);
  std::exit(1);
}

template <typename Function>
Function* Find(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* const symbol = library == nullptr ? nullptr : dlsym(library, name);
  if (symbol == nullptr) {
    std::fprintf(stderr, "%s: %s\n", name, dlerror());
    std::exit(1);
  }
  return reinterpret_cast<Function*>(symbol);
}

#define STRING_2(x) #x
#define STRING(x) STRING_2(x)
// Calls the version of the function that cuda.h names.
#define CALL(function, ...)                                                \
  do {                                                                     \
    static auto* const found = Find<decltype(function)>(STRING(function)); \
    Check(found(__VA_ARGS__), #function);                                  \
  } while (false)

double Seconds(const std::function<void()>& work) {
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The median of five rounds, in µs a call.
void Print(
    const char* what, int calls, const std::function<void()>& call,
    const std::function<void()>& after = [] {}) {
  std::vector<double> rounds;
  for (int round = 0; round < 5; ++round) {
    rounds.push_back(Seconds([&] {
      for (int i = 0; i < calls; ++i) call();
      after();
    }));
  }
  std::sort(rounds.begin(), rounds.end());
  std::printf("%-32s %9.2f us\n", what, rounds[2] / calls * 1e6);
}

}  // namespace

int main() {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction nothing;
  CUdeviceptr memory;
  const double start = Seconds([&] {
    CALL(cuInit, 0);
    CALL(cuDeviceGet, &device, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, device);
    CALL(cuCtxSetCurrent, context);
    CALL(cuMemAlloc, &memory, 64 << 20);
  });
  std::printf("%-32s %9.2f ms\n", "start, context, first memory", start * 1e3);
  CALL(cuModuleLoadData, &module, kKernel);
  CALL(cuModuleGetFunction, &nothing, module, "nothing");
  void* arguments[] = {&memory};
  const auto launch = [&] {
    CALL(cuLaunchKernel, nothing, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments,
         nullptr);
  };
  const auto synchronize = [] { CALL(cuCtxSynchronize); };
  launch();
  synchronize();
  Print("launch", 20000, launch, synchronize);
  Print("launch and synchronise", 1000, [&] {
    launch();
    synchronize();
  });
  Print("allocate and free 1 MiB", 300, [] {
    CUdeviceptr piece;
    CALL(cuMemAlloc, &piece, 1 << 20);
    CALL(cuMemFree, piece);
  });
  std::vector<char> bytes(64 << 20, 1);
  Print("4 KiB to the device", 1000,
        [&] { CALL(cuMemcpyHtoD, memory, bytes.data(), 4096); });
  Print("4 KiB from the device", 1000,
        [&] { CALL(cuMemcpyDtoH, bytes.data(), memory, 4096); });
  Print(
      "64 MiB to the device", 4,
      [&] { CALL(cuMemcpyHtoD, memory, bytes.data(), bytes.size()); },
      synchronize);
  Print("64 MiB from the device", 4,
        [&] { CALL(cuMemcpyDtoH, bytes.data(), memory, bytes.size()); });
  std::puts("done");
  return 0;
}
