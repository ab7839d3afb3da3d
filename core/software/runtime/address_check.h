// SPDX-License-Identifier: Apache-2.0
//
// Tests addresses for functions of the runtime that access memory for a kernel.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_ADDRESS_CHECK_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_ADDRESS_CHECK_H_

#include <cstdint>

#include "core/software/abi/abi.h"
#include "core/software/runtime/kernel_fault.h"

namespace holdfast::software {

// An access to memory: its size in bytes, of which its address must be a
// multiple, and the memory that it may reach.
struct CheckedAccess {
  uint32_t bytes;
  AddressRoom room;
};

// Returns the fault of an access at `address` by a thread of the worker's
// block; kNone if there is no fault. Without memcheck mode, the access may
// still fault after kNone, because the memory may not be mapped.
KernelFault::Kind AccessFault(const WorkerContext& worker,
                              const CheckedAccess& access, uint64_t address);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_ADDRESS_CHECK_H_
