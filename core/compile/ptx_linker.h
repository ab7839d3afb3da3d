// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_COMPILE_PTX_LINKER_H_
#define HOLDFAST_CORE_COMPILE_PTX_LINKER_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/compile/program.h"

namespace holdfast::compile {

// Joins PTX modules into one, as text. An .extern declaration refers to the
// .visible definition of another module, the first of several .weak definitions
// counts, and a module's internal names are changed where they collide. Debug
// information is dropped. No library of the toolkit can do this; devices that
// run PTX itself need it. Thread-safe.
//
// The only option is --maxrregcount, which becomes the .maxnreg of each kernel
// whose text does not limit it, as CU_JIT_MAX_REGISTERS does (kernel_limits.h).
// INVALID_ARGUMENT: there is another option; an input is not a PTX module; or a
// symbol is defined twice or nowhere, or is a function in one module and a
// variable in another (the ErrorDetail's log names each).
absl::StatusOr<ObjectCode> LinkPtx(const LinkSource& source);

// Returns one PTX module unchanged, for machines without a compiler that could
// check it: only its outline is checked, as in LinkPtx.
absl::StatusOr<ObjectCode> KeepPtx(const LinkInput& ptx,
                                   const std::string& arch);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_PTX_LINKER_H_
