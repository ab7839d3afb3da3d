// SPDX-License-Identifier: Apache-2.0
//
// The CUDA functions that this driver does not support: the lines
// HOLDFAST_UNSUPPORTED and HOLDFAST_UNSUPPORTED_SYMBOL of entry_points.inc.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_NOT_SERVED_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_NOT_SERVED_H_

#include <vector>

namespace holdfast::software {

struct NotServed {
  const char* name;  // the name for cuGetProcAddress
  int version;       // the CUDA version from which the name means the function
  void* function;    // returns CUDA_ERROR_NOT_SUPPORTED, with a reason
};

// Returns the functions of the HOLDFAST_UNSUPPORTED lines. Thread-safe.
const std::vector<NotServed>& FunctionsNotServed();

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_NOT_SERVED_H_
