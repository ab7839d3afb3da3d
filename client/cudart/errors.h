// SPDX-License-Identifier: Apache-2.0
//
// Errors of the runtime: their names, their driver's counterparts, and the last
// one of each thread.
#ifndef HOLDFAST_CLIENT_CUDART_ERRORS_H_
#define HOLDFAST_CLIENT_CUDART_ERRORS_H_

#include "cuda.h"
#include "driver_types.h"

namespace holdfast::libcudart {

// Returns the runtime's error for a driver's. Nearly all have the same number.
cudaError_t Translate(CUresult result);

// Returns `error`, after making it the thread's last error if it is one.
cudaError_t Record(cudaError_t error);
inline cudaError_t Record(CUresult result) { return Record(Translate(result)); }

// The thread's last error. Take also forgets it, even if it is sticky, as a
// fault in a kernel is: each later call returns that again.
cudaError_t PeekLastError();
cudaError_t TakeLastError();

// Null for a number that is no error.
const char* FindErrorName(cudaError_t error);
const char* FindErrorText(cudaError_t error);

}  // namespace holdfast::libcudart

#endif  // HOLDFAST_CLIENT_CUDART_ERRORS_H_
