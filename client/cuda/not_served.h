// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_NOT_SERVED_H_
#define HOLDFAST_CLIENT_CUDA_NOT_SERVED_H_

namespace holdfast::libcuda {

// Returns CUDA_ERROR_NOT_SUPPORTED as a number, for functions that sessions do
// not have. With HOLDFAST_CUDA_LOG=1, it also prints the function's name.
int Refuse(const char* function);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_NOT_SERVED_H_
