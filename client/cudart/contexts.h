// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDART_CONTEXTS_H_
#define HOLDFAST_CLIENT_CUDART_CONTEXTS_H_

#include "client/cudart/driver.h"

namespace holdfast::libcudart {

// The context in which the runtime's calls of a thread work. It is the thread's
// current context. If there is none, it becomes the primary context of the
// thread's device, which is device 0 until cudaSetDevice. Primary contexts are
// retained at their first use. All functions are thread-safe.

// Makes sure that the thread has a current context, and returns it.
cudaError_t EnterContext(const Driver& driver, CUcontext* context);

// Returns the primary context of a device. The runtime retains it until
// ResetDevice, so the caller need not release it.
cudaError_t PrimaryContext(const Driver& driver, int device,
                           CUcontext* context);

// Makes the primary context of `device` the thread's current context.
cudaError_t SelectDevice(const Driver& driver, int device);

// Returns the device of the thread's context. Creates no context.
cudaError_t CurrentDevice(const Driver& driver, int* device);

// Destroys the primary context of the thread's device. The next call of any
// thread creates another one.
cudaError_t ResetDevice(const Driver& driver);

}  // namespace holdfast::libcudart

#endif  // HOLDFAST_CLIENT_CUDART_CONTEXTS_H_
