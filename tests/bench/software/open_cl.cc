// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/software/open_cl.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace holdfast::bench {
namespace {

constexpr char kSource[] =
#include "tests/bench/software/kernels.inc"
    ;

// The part of OpenCL's ABI that is used, from its specification.
using Handle = void*;
using Code = int32_t;
constexpr uint64_t kDeviceTypeCpu = 1 << 1;
constexpr uint32_t kDeviceName = 0x102B;
constexpr uint64_t kReadWrite = 1 << 0, kUseHostPointer = 1 << 3;
constexpr uint32_t kBuildLog = 0x1183;

[[noreturn]] void Fail(const std::string& what) {
  fprintf(stderr, "OpenCL: %s\n", what.c_str());
  exit(2);
}

void Require(Code code, const char* what) {
  if (code != 0) Fail(std::string(what) + ": " + std::to_string(code));
}

struct OpenCl {
  Code (*get_platforms)(uint32_t, Handle*, uint32_t*);
  Code (*get_devices)(Handle, uint64_t, uint32_t, Handle*, uint32_t*);
  Code (*get_device_info)(Handle, uint32_t, size_t, void*, size_t*);
  Handle (*create_context)(const intptr_t*, uint32_t, const Handle*, void*,
                           void*, Code*);
  Handle (*create_queue)(Handle, Handle, uint64_t, Code*);
  Handle (*create_program)(Handle, uint32_t, const char**, const size_t*,
                           Code*);
  Code (*build_program)(Handle, uint32_t, const Handle*, const char*, void*,
                        void*);
  Code (*get_build_info)(Handle, Handle, uint32_t, size_t, void*, size_t*);
  Handle (*create_kernel)(Handle, const char*, Code*);
  Handle (*create_buffer)(Handle, uint64_t, size_t, void*, Code*);
  Code (*set_argument)(Handle, uint32_t, size_t, const void*);
  Code (*enqueue)(Handle, Handle, uint32_t, const size_t*, const size_t*,
                  const size_t*, uint32_t, const Handle*, Handle*);
  Code (*finish)(Handle);

  Handle device = nullptr, context = nullptr, queue = nullptr,
         program = nullptr;
  std::map<const void*, Handle> buffers;
};

template <typename F>
bool Find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  return *function != nullptr;
}

bool Load(OpenCl* cl) {
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW);
  return library != nullptr &&
         Find(library, "clGetPlatformIDs", &cl->get_platforms) &&
         Find(library, "clGetDeviceIDs", &cl->get_devices) &&
         Find(library, "clGetDeviceInfo", &cl->get_device_info) &&
         Find(library, "clCreateContext", &cl->create_context) &&
         Find(library, "clCreateCommandQueue", &cl->create_queue) &&
         Find(library, "clCreateProgramWithSource", &cl->create_program) &&
         Find(library, "clBuildProgram", &cl->build_program) &&
         Find(library, "clGetProgramBuildInfo", &cl->get_build_info) &&
         Find(library, "clCreateKernel", &cl->create_kernel) &&
         Find(library, "clCreateBuffer", &cl->create_buffer) &&
         Find(library, "clSetKernelArg", &cl->set_argument) &&
         Find(library, "clEnqueueNDRangeKernel", &cl->enqueue) &&
         Find(library, "clFinish", &cl->finish);
}

bool FindDevice(OpenCl* cl) {
  Handle platforms[8];
  uint32_t count = 0;
  if (cl->get_platforms(8, platforms, &count) != 0) return false;
  for (uint32_t i = 0; i < count && i < 8; ++i) {
    uint32_t devices = 0;
    if (cl->get_devices(platforms[i], kDeviceTypeCpu, 1, &cl->device,
                        &devices) == 0 &&
        devices > 0) {
      return true;
    }
  }
  return false;
}

void Build(OpenCl* cl) {
  Code code = 0;
  cl->context =
      cl->create_context(nullptr, 1, &cl->device, nullptr, nullptr, &code);
  Require(code, "clCreateContext");
  cl->queue = cl->create_queue(cl->context, cl->device, 0, &code);
  Require(code, "clCreateCommandQueue");
  const char* source = kSource;
  cl->program = cl->create_program(cl->context, 1, &source, nullptr, &code);
  Require(code, "clCreateProgramWithSource");
  if (cl->build_program(cl->program, 1, &cl->device, "", nullptr, nullptr) !=
      0) {
    char log[4096] = "";
    cl->get_build_info(cl->program, cl->device, kBuildLog, sizeof(log), log,
                       nullptr);
    Fail(log);
  }
}

// Null: the machine has none.
OpenCl* Get() {
  static OpenCl* cl = []() -> OpenCl* {
    static OpenCl made;
    if (!Load(&made) || !FindDevice(&made)) return nullptr;
    Build(&made);
    return &made;
  }();
  return cl;
}

}  // namespace

bool OpenClKernel::Prepare() {
  OpenCl* cl = Get();
  if (cl == nullptr) return false;
  if (kernel_ != nullptr) return true;
  Code code = 0;
  kernel_ = cl->create_kernel(cl->program, name_.c_str(), &code);
  Require(code, name_.c_str());
  return true;
}

void OpenClKernel::SetBuffer(unsigned index, void* data, size_t bytes) {
  Handle& buffer = Get()->buffers[data];
  if (buffer == nullptr) {
    Code code = 0;
    buffer = Get()->create_buffer(Get()->context, kReadWrite | kUseHostPointer,
                                  bytes, data, &code);
    Require(code, "clCreateBuffer");
  }
  SetValue(index, &buffer, sizeof(buffer));
}

void OpenClKernel::SetValue(unsigned index, const void* value, size_t bytes) {
  Require(Get()->set_argument(kernel_, index, bytes, value), name_.c_str());
}

void OpenClKernel::Start(Extent threads, Extent group) {
  const uint32_t dimensions = threads[1] == 0 ? 1 : 2;
  Require(Get()->enqueue(Get()->queue, kernel_, dimensions, nullptr,
                         threads.data(), group.data(), 0, nullptr, nullptr),
          name_.c_str());
}

void OpenClKernel::Finish() { Require(Get()->finish(Get()->queue), "kernel"); }

std::string OpenClName() {
  if (Get() == nullptr) return "";
  char name[256] = "";
  Get()->get_device_info(Get()->device, kDeviceName, sizeof(name) - 1, name,
                         nullptr);
  return name;
}

}  // namespace holdfast::bench
