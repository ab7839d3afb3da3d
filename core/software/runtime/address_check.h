// SPDX-License-Identifier: Apache-2.0
//
// The rule by which accesses of kernels are good or bad, for functions of the
// runtime that access memory for a kernel.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_ADDRESS_CHECK_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_ADDRESS_CHECK_H_

#include <cstdint>

#include "core/software/abi/abi.h"
#include "core/software/runtime/kernel_fault.h"

namespace holdfast::software {

// An access of `bytes` bytes, on a boundary of as many.
struct CheckedAccess {
  uint32_t bytes;
  AddressRoom room;
};

// Returns kNone, or the fault of an access at `address` by a thread of the
// worker's block. Unless the mode is memcheck, says nothing about whether
// memory is mapped there.
KernelFault::Kind AccessFault(const WorkerContext& worker,
                              const CheckedAccess& access, uint64_t address);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_ADDRESS_CHECK_H_
