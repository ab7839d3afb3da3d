// SPDX-License-Identifier: Apache-2.0
//
// Errors of the runtime: their names, the driver's equivalents, and the last
// error of each thread.
#ifndef HOLDFAST_CLIENT_CUDART_ERRORS_H_
#define HOLDFAST_CLIENT_CUDART_ERRORS_H_

#include "cuda.h"
#include "driver_types.h"

namespace holdfast::libcudart {

// Returns the runtime's error for an error of the driver. Nearly all have the
// same number.
cudaError_t Translate(CUresult result);

// Makes `error` the thread's last error unless it is cudaSuccess. Returns
// `error`.
cudaError_t Record(cudaError_t error);
inline cudaError_t Record(CUresult result) { return Record(Translate(result)); }

// Return the thread's last error. TakeLastError also clears it. Each later call
// sets a sticky error, such as a kernel's fault, again.
cudaError_t PeekLastError();
cudaError_t TakeLastError();

// Return the name and the text of an error; null if the number is not an error.
const char* FindErrorName(cudaError_t error);
const char* FindErrorText(cudaError_t error);

}  // namespace holdfast::libcudart

#endif  // HOLDFAST_CLIENT_CUDART_ERRORS_H_
