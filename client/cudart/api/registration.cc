// SPDX-License-Identifier: Apache-2.0
//
// Entry points that nvcc's host code calls: the program's images, kernels and
// variables, and the configurations of launches.
#include <cstdio>
#include <cstdlib>

#include "client/cudart/call.h"

using namespace holdfast::libcudart;

namespace {

// The arguments between <<< and >>>.
struct Configuration {
  dim3 grid;
  dim3 block;
  size_t shared_memory;
  void* stream;
};

// A launch in the arguments of a launch is one deeper. There is no destructor,
// so that exit handlers may launch kernels.
constexpr int kMaxDepth = 64;
thread_local Configuration configurations[kMaxDepth];
thread_local int depth = 0;

Module* ModuleOf(void** handle) { return reinterpret_cast<Module*>(handle); }

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(RegisterModule(wrapper));
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
  if (handle != nullptr) UnregisterModule(ModuleOf(handle));
}

void __cudaRegisterFunction(void** handle, const char* stub, char*,
                            const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  RegisterKernel(ModuleOf(handle), stub, name);
}

void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int,
                       size_t, int, int) {
  RegisterVariable(ModuleOf(handle), host, name);
}

void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}

void __cudaRegisterManagedVar(void** handle, void** host, char*,
                              const char* name, int, size_t, int, int) {
  RegisterManaged(ModuleOf(handle), host, name);
}

// nvcc's host code calls it before it uses a __managed__ variable, whose
// pointer would otherwise be null.
char __cudaInitModule(void** handle) {
  const cudaError_t error = WithContext([&](const Driver& driver) {
    return LoadModule(driver, ModuleOf(handle));
  });
  if (error == cudaSuccess) return 1;
  std::fprintf(stderr,
               "libcudart: the program's __managed__ variables have no memory "
               "(%s): it ends.\n",
               cudaGetErrorName(error));
  std::exit(EXIT_FAILURE);
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block,
                                     size_t shared_memory, void* stream) {
  // nvcc's host code leaves the launch out then.
  if (depth == kMaxDepth) return Record(cudaErrorInvalidConfiguration);
  configurations[depth++] = {grid, block, shared_memory, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block,
                                       size_t* shared_memory, void* stream) {
  if (depth == 0) return Record(cudaErrorMissingConfiguration);
  const Configuration& last = configurations[--depth];
  *grid = last.grid;
  *block = last.block;
  *shared_memory = last.shared_memory;
  *static_cast<void**>(stream) = last.stream;
  return cudaSuccess;
}

// The handle is the stub itself: it stays valid over resets, and a launch says
// what is wrong with its module.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(stub));
  return cudaSuccess;
}

}  // extern "C"
