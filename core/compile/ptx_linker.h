// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_COMPILE_PTX_LINKER_H_
#define HOLDFAST_CORE_COMPILE_PTX_LINKER_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/compile/program.h"

namespace holdfast::compile {

// Returns one PTX module that joins the PTX modules `source.inputs`, as text.
// An .extern declaration refers to the .visible definition of another module.
// The first of several .weak definitions is used. Internal names of modules are
// changed where they collide, and debug information is dropped. No library of
// the toolkit can do this; devices that run PTX itself need it. Thread-safe.
//
// The only supported option is --maxrregcount. It adds .maxnreg to each kernel
// whose text does not limit registers, as CU_JIT_MAX_REGISTERS does
// (core/cuda/kernel_limits.h). INVALID_ARGUMENT: there is another option; an
// input is not a PTX module; or a symbol is defined twice or nowhere, or is a
// function in one module and a variable in another (the ErrorDetail's log names
// each).
absl::StatusOr<ObjectCode> LinkPtx(const LinkSource& source);

// Returns one PTX module unchanged, for machines without a compiler. Checks
// only that `ptx` has the outline of a PTX module. INVALID_ARGUMENT: it has
// not, or `arch` is not an architecture.
absl::StatusOr<ObjectCode> KeepPtx(const LinkInput& ptx,
                                   const std::string& arch);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_PTX_LINKER_H_
