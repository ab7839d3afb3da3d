// SPDX-License-Identifier: Apache-2.0
//
// A small CUDA program, written against cuda.h alone. It says what it does, and
// says the same with every driver:
//
//   ./program libcuda.so.1
//   ./program libholdfast_software.so
//
// Two streams scale halves of an array, an event joins them, a cooperative
// kernel adds all up with a barrier of the whole grid, and in the end a kernel
// stores where no memory is.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "cuda.h"

namespace {

void* library = nullptr;

// cuda.h gives functions the names of their newest versions by macros.
#define STRING(name) #name
#define CALL(name) reinterpret_cast<decltype(&::name)>(Find(STRING(name)))

void* Find(const char* name) {
  void* function = dlsym(library, name);
  if (function != nullptr) return function;
  fprintf(stderr, "%s: not found\n", name);
  exit(1);
}

const char* NameOf(CUresult result) {
  const char* name = "no CUresult";
  CALL(cuGetErrorName)(result, &name);
  return name;
}

void Require(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  printf("%s: %s\n", what, NameOf(result));
  exit(1);
}
#define REQUIRE(call) Require(call, #call)

constexpr char kPtx[] = R"(
.version 7.0
.target sm_75
.address_size 64

// data[first + i] *= factor for i < count
.visible .entry scale(.param .u64 p_data, .param .u32 p_first,
                      .param .u32 p_count, .param .f32 p_factor)
{
    .reg .pred %p<2>;
    .reg .f32 %f<4>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [p_data];
    ld.param.u32 %r1, [p_first];
    ld.param.u32 %r2, [p_count];
    ld.param.f32 %f1, [p_factor];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r6, %r3, %r4, %r5;
    setp.ge.u32 %p1, %r6, %r2;
    @%p1 bra DONE;
    add.u32 %r7, %r6, %r1;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r7, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    mul.rn.f32 %f3, %f2, %f1;
    st.global.f32 [%rd4], %f3;
DONE:
    ret;
}

// Each block, of one thread, adds its part of the data into sums[block]; when
// all blocks have, the first one adds these into total. arrived is 0 before.
.visible .entry add_up(.param .u64 p_data, .param .u32 p_each,
                       .param .u64 p_sums, .param .u64 p_arrived,
                       .param .u64 p_total)
{
    .reg .pred %p<5>;
    .reg .f32 %f<5>;
    .reg .b32 %r<10>;
    .reg .b64 %rd<14>;
    ld.param.u64 %rd1, [p_data];
    ld.param.u32 %r1, [p_each];
    ld.param.u64 %rd2, [p_sums];
    ld.param.u64 %rd3, [p_arrived];
    ld.param.u64 %rd4, [p_total];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %nctaid.x;
    mul.lo.u32 %r4, %r2, %r1;
    mul.wide.u32 %rd5, %r4, 4;
    add.u64 %rd6, %rd1, %rd5;
    mov.u32 %r5, 0;
    mov.f32 %f1, 0f00000000;
PART:
    ld.global.f32 %f2, [%rd6];
    add.rn.f32 %f1, %f1, %f2;
    add.u64 %rd6, %rd6, 4;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p1, %r5, %r1;
    @%p1 bra PART;
    mul.wide.u32 %rd7, %r2, 4;
    add.u64 %rd8, %rd2, %rd7;
    st.volatile.global.f32 [%rd8], %f1;
    membar.gl;
    atom.global.add.u32 %r6, [%rd3], 1;
WAIT:
    ld.volatile.global.u32 %r7, [%rd3];
    setp.lt.u32 %p2, %r7, %r3;
    @%p2 bra WAIT;
    membar.gl;
    setp.ne.u32 %p3, %r2, 0;
    @%p3 bra DONE;
    mov.u32 %r8, 0;
    mov.f32 %f3, 0f00000000;
SUM:
    ld.volatile.global.f32 %f4, [%rd2];
    add.rn.f32 %f3, %f3, %f4;
    add.u64 %rd2, %rd2, 4;
    add.u32 %r8, %r8, 1;
    setp.lt.u32 %p4, %r8, %r3;
    @%p4 bra SUM;
    st.global.f32 [%rd4], %f3;
DONE:
    ret;
}

.visible .entry store(.param .u64 p_to)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p_to];
    st.global.u32 [%rd1], 1;
    ret;
}
)";

constexpr unsigned kCount = 4096;
constexpr unsigned kBlocks = 2;

CUfunction Function(CUmodule module, const char* name) {
  CUfunction function = nullptr;
  REQUIRE(CALL(cuModuleGetFunction)(&function, module, name));
  return function;
}

CUdeviceptr Allocate(size_t bytes) {
  CUdeviceptr memory = 0;
  REQUIRE(CALL(cuMemAlloc)(&memory, bytes));
  REQUIRE(CALL(cuMemsetD8)(memory, 0, bytes));
  return memory;
}

// Two streams beside each other; the first one waits for the second.
void Scale(CUfunction scale, CUdeviceptr data, CUstream first) {
  CUstream second = nullptr;
  CUevent done = nullptr;
  REQUIRE(CALL(cuStreamCreate)(&second, CU_STREAM_NON_BLOCKING));
  REQUIRE(CALL(cuEventCreate)(&done, CU_EVENT_DEFAULT));
  unsigned half = kCount / 2, start = 0;
  float factor = 2;
  void* low[] = {&data, &start, &half, &factor};
  REQUIRE(CALL(cuLaunchKernel)(scale, half / 128, 1, 1, 128, 1, 1, 0, first,
                               low, nullptr));
  start = half;
  factor = 3;
  REQUIRE(CALL(cuLaunchKernel)(scale, half / 128, 1, 1, 128, 1, 1, 0, second,
                               low, nullptr));
  REQUIRE(CALL(cuEventRecord)(done, second));
  REQUIRE(CALL(cuStreamWaitEvent)(first, done, 0));
  REQUIRE(CALL(cuStreamSynchronize)(first));
  printf("event after the join: %s\n", NameOf(CALL(cuEventQuery)(done)));
  REQUIRE(CALL(cuEventDestroy)(done));
  REQUIRE(CALL(cuStreamDestroy)(second));
}

float AddUp(CUfunction add_up, CUdeviceptr data, CUstream stream) {
  CUdeviceptr sums = Allocate(4 * kBlocks), arrived = Allocate(4),
              total = Allocate(4);
  REQUIRE(CALL(cuCtxSynchronize)());
  unsigned each = kCount / kBlocks;
  void* parameters[] = {&data, &each, &sums, &arrived, &total};
  REQUIRE(CALL(cuLaunchCooperativeKernel)(add_up, kBlocks, 1, 1, 1, 1, 1, 0,
                                          stream, parameters));
  float sum = 0;
  REQUIRE(CALL(cuMemcpyDtoHAsync)(&sum, total, 4, stream));
  REQUIRE(CALL(cuStreamSynchronize)(stream));
  return sum;
}

void Fault(CUfunction store, CUstream stream) {
  CUdeviceptr nowhere = 0x10000;
  void* parameters[] = {&nowhere};
  REQUIRE(CALL(cuLaunchKernel)(store, 1, 1, 1, 1, 1, 1, 0, stream, parameters,
                               nullptr));
  printf("store to no memory: %s\n", NameOf(CALL(cuStreamSynchronize)(stream)));
  CUdeviceptr memory = 0;
  printf("allocation after it: %s\n", NameOf(CALL(cuMemAlloc)(&memory, 4)));
}

}  // namespace

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "libcuda.so.1";
  library = dlopen(path, RTLD_NOW);
  if (library == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  REQUIRE(CALL(cuInit)(0));
  CUdevice device = 0;
  CUcontext context = nullptr;
  REQUIRE(CALL(cuDeviceGet)(&device, 0));
  REQUIRE(CALL(cuDevicePrimaryCtxRetain)(&context, device));
  REQUIRE(CALL(cuCtxSetCurrent)(context));

  CUmodule module = nullptr;
  printf("garbage: %s\n",
         NameOf(CALL(cuModuleLoadData)(&module, ".entry garbage")));
  REQUIRE(CALL(cuModuleLoadData)(&module, kPtx));

  std::vector<float> data(kCount);
  for (unsigned i = 0; i < kCount; ++i) data[i] = static_cast<float>(i % 16);
  const CUdeviceptr memory = Allocate(4 * kCount);
  CUstream stream = nullptr;
  REQUIRE(CALL(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  REQUIRE(CALL(cuCtxSynchronize)());
  REQUIRE(CALL(cuMemcpyHtoDAsync)(memory, data.data(), 4 * kCount, stream));
  REQUIRE(CALL(cuStreamSynchronize)(stream));
  Scale(Function(module, "scale"), memory, stream);
  REQUIRE(CALL(cuMemcpyDtoH)(data.data(), memory, 4 * kCount));
  printf("scaled: %g %g ... %g %g\n", data[1], data[2], data[kCount - 2],
         data[kCount - 1]);
  printf("sum of all: %g\n", AddUp(Function(module, "add_up"), memory, stream));
  Fault(Function(module, "store"), stream);
  return 0;
}
