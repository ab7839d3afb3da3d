// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_PCI_BUS_ID_H_
#define HOLDFAST_CORE_CUDA_PCI_BUS_ID_H_

#include <cstdio>

namespace holdfast::cuda {

// Returns whether a text has a form that cuDeviceGetByPCIBusId takes:
// "domain:bus:device.function" in hexadecimal digits, without the function, or
// without domain and function. NVIDIA's driver answers another text, and a
// buffer that is too small for an id, with CUDA_ERROR_INVALID_VALUE.
inline bool IsPciBusId(const char* text) {
  unsigned numbers[4];
  return std::sscanf(text, "%x:%x:%x.%x", &numbers[0], &numbers[1], &numbers[2],
                     &numbers[3]) >= 2;
}

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_PCI_BUS_ID_H_
