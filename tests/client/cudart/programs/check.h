// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_CLIENT_CUDART_PROGRAMS_CHECK_H_
#define HOLDFAST_TESTS_CLIENT_CUDART_PROGRAMS_CHECK_H_

#include <cstdio>
#include <cstdlib>

// Prints the error and exits with status 1 if a call of the runtime fails.
#define CHECK_CUDA(call) CheckCuda((call), #call)

// Does the same if a condition is false.
#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) {                                       \
      std::printf("line %d: not %s\n", __LINE__, #condition); \
      std::exit(1);                                           \
    }                                                         \
  } while (false)

inline void CheckCuda(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", call, cudaGetErrorString(error));
  std::exit(1);
}

#endif  // HOLDFAST_TESTS_CLIENT_CUDART_PROGRAMS_CHECK_H_
