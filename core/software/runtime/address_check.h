// SPDX-License-Identifier: Apache-2.0
//
// The test of addresses for functions of the runtime that access memory for a
// kernel.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_ADDRESS_CHECK_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_ADDRESS_CHECK_H_

#include <cstdint>

#include "core/software/abi/abi.h"
#include "core/software/runtime/kernel_fault.h"

namespace holdfast::software {

// An access of `bytes` bytes, which must lie on a multiple of `bytes`.
struct CheckedAccess {
  uint32_t bytes;
  AddressRoom room;
};

// Returns kNone, or the fault of an access at `address` by a thread of the
// worker's block. Outside of memcheck mode, memory need not be mapped at an
// address without a fault.
KernelFault::Kind AccessFault(const WorkerContext& worker,
                              const CheckedAccess& access, uint64_t address);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_ADDRESS_CHECK_H_
