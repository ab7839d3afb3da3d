// SPDX-License-Identifier: Apache-2.0
//
// The functions of CUDA that this driver does not serve: HOLDFAST_UNSUPPORTED
// and HOLDFAST_UNSUPPORTED_SYMBOL of entry_points.inc.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_NOT_SERVED_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_NOT_SERVED_H_

#include <vector>

namespace holdfast::software {

struct NotServed {
  const char* name;  // what cuGetProcAddress is asked for
  int version;
  void* function;  // answers CUDA_ERROR_NOT_SUPPORTED with a reason
};

const std::vector<NotServed>& FunctionsNotServed();

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_NOT_SERVED_H_
