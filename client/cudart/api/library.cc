// SPDX-License-Identifier: Apache-2.0
//
// Entry points: libraries that the program loads, and variables of its own
// code.
#include "client/cudart/call.h"

using namespace holdfast::libcudart;

extern "C" {

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code,
                                cudaJitOption* jit_options, void** jit_values,
                                unsigned jit_count, cudaLibraryOption* options,
                                void** values, unsigned count) {
  return CallInContext(&Driver::LibraryLoadData, library, code,
                       As<CUjit_option>(jit_options), jit_values, jit_count,
                       As<CUlibraryOption>(options), values, count);
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path,
                                    cudaJitOption* jit_options,
                                    void** jit_values, unsigned jit_count,
                                    cudaLibraryOption* options, void** values,
                                    unsigned count) {
  return CallInContext(&Driver::LibraryLoadFromFile, library, path,
                       As<CUjit_option>(jit_options), jit_values, jit_count,
                       As<CUlibraryOption>(options), values, count);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return CallInContext(&Driver::LibraryUnload, library);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library,
                                 const char* name) {
  return CallInContext(&Driver::LibraryGetKernel, kernel, library, name);
}

cudaError_t cudaLibraryGetGlobal(void** address, size_t* size,
                                 cudaLibrary_t library, const char* name) {
  return CallInContext(&Driver::LibraryGetGlobal, As<CUdeviceptr>(address),
                       size, library, name);
}

cudaError_t cudaLibraryGetManaged(void** address, size_t* size,
                                  cudaLibrary_t library, const char* name) {
  return CallInContext(&Driver::LibraryGetManaged, As<CUdeviceptr>(address),
                       size, library, name);
}

cudaError_t cudaLibraryGetUnifiedFunction(void** function,
                                          cudaLibrary_t library,
                                          const char* name) {
  return CallInContext(&Driver::LibraryGetUnifiedFunction, function, library,
                       name);
}

cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t library) {
  return CallInContext(&Driver::LibraryGetKernelCount, count, library);
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned count,
                                        cudaLibrary_t library) {
  return CallInContext(&Driver::LibraryEnumerateKernels, kernels, count,
                       library);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
                                            cudaFuncAttribute attribute,
                                            int value, int device) {
  return CallInContext(&Driver::KernelSetAttribute,
                       static_cast<CUfunction_attribute>(attribute), value,
                       kernel, device);
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  if (address == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext([&](const Driver& driver) {
    size_t size = 0;
    return FindVariable(driver, symbol, As<CUdeviceptr>(address), &size);
  });
}

cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  if (size == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext([&](const Driver& driver) {
    CUdeviceptr address = 0;
    return FindVariable(driver, symbol, &address, size);
  });
}

}  // extern "C"
