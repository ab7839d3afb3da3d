// SPDX-License-Identifier: Apache-2.0
//
// How much memory there is to use, which default limits are shares of.
#ifndef HOLDFAST_CORE_BASE_MACHINE_MEMORY_H_
#define HOLDFAST_CORE_BASE_MACHINE_MEMORY_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace holdfast {

// Returns the bytes of memory that this machine has, or that the process's
// control group or one above it may use, if that is less: beyond it the kernel
// ends processes of the group. Read at the first call. Thread-safe.
uint64_t MachineMemory();

// Returns the least limit of the control groups that `groups`, the text of
// /proc/self/cgroup, names: of version 2 and of version 1, up to the root of
// the hierarchy that is mounted at `mount`. UINT64_MAX: there is none, or none
// can be seen.
uint64_t ControlGroupMemory(absl::string_view groups, const std::string& mount);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_MACHINE_MEMORY_H_
