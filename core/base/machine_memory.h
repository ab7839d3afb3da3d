// SPDX-License-Identifier: Apache-2.0
//
// The usable memory of the machine. Default limits are shares of it.
#ifndef HOLDFAST_CORE_BASE_MACHINE_MEMORY_H_
#define HOLDFAST_CORE_BASE_MACHINE_MEMORY_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace holdfast {

// Returns the bytes of the machine's memory, or a smaller limit of the
// process's control group or of a group above it: beyond that limit the kernel
// kills processes of the group. Reads the figures at the first call only.
// Thread-safe.
uint64_t MachineMemory();

// Returns the least memory limit of the control groups in `groups`, the text of
// /proc/self/cgroup, for versions 1 and 2, up to the root of the hierarchy
// mounted at `mount`. UINT64_MAX: no limit is visible.
uint64_t ControlGroupMemory(absl::string_view groups, const std::string& mount);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_MACHINE_MEMORY_H_
