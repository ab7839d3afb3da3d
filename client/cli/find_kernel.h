// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_FIND_KERNEL_H_
#define HOLDFAST_CLIENT_CLI_FIND_KERNEL_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/cpp/compile/object_code.h"
#include "client/cpp/kernel.h"
#include "client/cpp/module.h"

namespace holdfast::cli {

// Returns a kernel of `module`, which was loaded from `object`, as
// Module::GetKernel does; also by its name in the C++ source if only one kernel
// has it: "axpb" for _Z4axpbPf6Params. Waits for the module's names if the
// object does not list the kernel.
absl::StatusOr<Kernel> FindKernel(const Module& module,
                                  const ObjectCode& object,
                                  const std::string& name);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_FIND_KERNEL_H_
