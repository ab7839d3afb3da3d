// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDART_MODULES_H_
#define HOLDFAST_CLIENT_CUDART_MODULES_H_

#include <cstddef>

#include "client/cudart/driver.h"

namespace holdfast::libcudart {

// The code that nvcc has put into the program and its libraries. Its kernels
// and variables are found by the host addresses that represent them. The first
// call that needs an image loads it as a library of the driver, for all
// contexts. All functions are thread-safe.
class Module;

// Registers the image of `wrapper` (fatbinary_section.h).
Module* RegisterModule(const void* wrapper);
// Unloads the module, and forgets its kernels and variables. REQUIRES: no call
// uses the module any longer.
void UnregisterModule(Module* module);

// Register a kernel or a variable of the module. `host` is the stub function,
// or the shadow variable, that represents it in the program; `name` is its name
// in the image. REQUIRES: `name` lives as long as the module.
void RegisterKernel(Module* module, const void* host, const char* name);
void RegisterVariable(Module* module, const void* host, const char* name);

// Registers a __managed__ variable, whose address the load of the module stores
// in *host. If the driver does not share the memory of variables with the
// program, the load prints this on standard error, and every use of the module
// fails with cudaErrorNotSupported.
void RegisterManaged(Module* module, void** host, const char* name);

// Loads the module, if it is not loaded.
cudaError_t LoadModule(const Driver& driver, Module* module);

// Returns the kernel of a stub. cudaErrorInvalidResourceHandle: `host` is not a
// stub.
cudaError_t FindKernel(const Driver& driver, const void* host,
                       CUkernel* kernel);

// Returns the kernel in the current context. Accepts, instead of a stub, a
// cudaKernel_t and a cudaFunction_t.
cudaError_t FindFunction(const Driver& driver, const void* host,
                         CUfunction* function);

// Returns an argument for cuLaunchKernel: for a stub, the CUkernel, which is
// valid in every context.
cudaError_t FindLaunchable(const Driver& driver, const void* host,
                           CUfunction* function);

// Returns the kernel's stub in the program, or the kernel itself if it has
// none.
void* StubOf(const Driver& driver, CUfunction function);

// Returns the variable's address in the current context and its size.
// cudaErrorInvalidSymbol: `host` is not a variable.
cudaError_t FindVariable(const Driver& driver, const void* host,
                         CUdeviceptr* address, size_t* size);

}  // namespace holdfast::libcudart

#endif  // HOLDFAST_CLIENT_CUDART_MODULES_H_
