// SPDX-License-Identifier: Apache-2.0
//
// The SAXPY application of the CUDA documentation as a native program over the
// driver API and NVRTC: what client/examples/saxpy.cc is measured against. Same
// source, options, data and verification; both libraries are loaded at run
// time, so that it starts anywhere.
//
// Usage: saxpy_native [LIBCUDA [LIBNVRTC]]

#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void saxpy(float a, float* x, float* y, float* out,
                                 size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a * x[i] + y[i];
}
)";
constexpr unsigned kThreads = 512;
constexpr unsigned kBlocks = 32768;
constexpr size_t kN = size_t{kThreads} * kBlocks;
constexpr float kA = 2.0f;

using Clock = std::chrono::steady_clock;

// Prints the time since the last step.
class Steps {
 public:
  void Done(const char* what) {
    const Clock::time_point now = Clock::now();
    std::printf("  %-24s %9.2f ms\n", what, Milliseconds(last_, now));
    last_ = now;
  }
  double Total() const { return Milliseconds(start_, Clock::now()); }

 private:
  static double Milliseconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
  }
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "saxpy_native: %s\n", what.c_str());
  std::exit(1);
}

void* Open(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == nullptr) Die(dlerror());
  return library;
}

template <typename Function>
Function* Symbol(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) Die(std::string("no symbol ") + name);
  return reinterpret_cast<Function*>(symbol);
}

template <typename Result>
void Check(Result result, const char* call) {
  if (static_cast<int>(result) != 0) {
    Die(std::string(call) + " failed with " +
        std::to_string(static_cast<int>(result)));
  }
}

#define STRINGIFY_(x) #x
#define STRINGIFY(x) STRINGIFY_(x)
// Calls a function of the libraries opened in main under its ABI name.
#define CALL(library, function, ...)                                           \
  Check(Symbol<decltype(function)>(library, STRINGIFY(function))(__VA_ARGS__), \
        #function)

std::string Compile(void* nvrtc) {
  nvrtcProgram program;
  CALL(nvrtc, nvrtcCreateProgram, &program, kSource, "saxpy.cu", 0, nullptr,
       nullptr);
  const char* options[] = {"--fmad=false", "--gpu-architecture=compute_90"};
  CALL(nvrtc, nvrtcCompileProgram, program, 2, options);
  size_t size;
  CALL(nvrtc, nvrtcGetPTXSize, program, &size);
  std::string ptx(size, '\0');
  CALL(nvrtc, nvrtcGetPTX, program, ptx.data());
  return ptx;
}

// The same numbers as client/examples/saxpy.cc.
void MakeData(std::vector<float>& x, std::vector<float>& y) {
  uint32_t state = 1;
  auto next = [&state] {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) * (1.0f / 16777216.0f);
  };
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = next();
    y[i] = next();
  }
}

size_t WrongElements(const std::vector<float>& x, const std::vector<float>& y,
                     const std::vector<float>& out) {
  size_t wrong = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const volatile float product = kA * x[i];
    if (out[i] != product + y[i]) ++wrong;
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  Steps steps;
  void* cuda = Open(argc > 1 ? argv[1] : "libcuda.so.1");
  void* nvrtc = Open(argc > 2 ? argv[2] : "libnvrtc.so.13");
  CALL(cuda, cuInit, 0);
  CUdevice device;
  CALL(cuda, cuDeviceGet, &device, 0);
  steps.Done("driver (cuInit)");
  const std::string ptx = Compile(nvrtc);
  steps.Done("compile (NVRTC)");
  CUcontext context;
  CALL(cuda, cuDevicePrimaryCtxRetain, &context, device);
  CALL(cuda, cuCtxSetCurrent, context);
  steps.Done("context");
  CUmodule module;
  CUfunction kernel;
  CALL(cuda, cuModuleLoadData, &module, ptx.data());
  CALL(cuda, cuModuleGetFunction, &kernel, module, "saxpy");
  steps.Done("module load");
  std::vector<float> x(kN), y(kN), out(kN);
  MakeData(x, y);
  steps.Done("make data");
  const size_t bytes = kN * sizeof(float);
  CUdeviceptr dx, dy, dout;
  CUstream stream;
  CALL(cuda, cuMemAlloc, &dx, bytes);
  CALL(cuda, cuMemAlloc, &dy, bytes);
  CALL(cuda, cuMemAlloc, &dout, bytes);
  CALL(cuda, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  steps.Done("allocate");
  CALL(cuda, cuMemcpyHtoDAsync, dx, x.data(), bytes, stream);
  CALL(cuda, cuMemcpyHtoDAsync, dy, y.data(), bytes, stream);
  CALL(cuda, cuStreamSynchronize, stream);
  steps.Done("copy in (2 x 64 MiB)");
  float a = kA;
  size_t n = kN;
  void* arguments[] = {&a, &dx, &dy, &dout, &n};
  CALL(cuda, cuLaunchKernel, kernel, kBlocks, 1, 1, kThreads, 1, 1, 0, stream,
       arguments, nullptr);
  CALL(cuda, cuStreamSynchronize, stream);
  steps.Done("kernel");
  CALL(cuda, cuMemcpyDtoHAsync, out.data(), dout, bytes, stream);
  CALL(cuda, cuStreamSynchronize, stream);
  steps.Done("copy out (64 MiB)");
  const size_t wrong = WrongElements(x, y, out);
  steps.Done("verify");
  std::printf("%zu of %zu elements right; %.1f ms in all\n", kN - wrong, kN,
              steps.Total());
  return wrong == 0 ? 0 : 1;
}
