// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_COMPILE_LTO_PTX_LINKER_H_
#define HOLDFAST_CORE_COMPILE_LTO_PTX_LINKER_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/compile/compile_options.h"
#include "core/compile/nvjitlink_linker.h"
#include "core/compile/nvvm_compiler.h"
#include "core/compile/program.h"

namespace holdfast::compile {

// Links LTO IR and PTX to PTX, which neither nvJitLink nor LinkPtx can do:
// compiles the LTO IR to one PTX module, and joins it with the others by
// LinkPtx. If PTX calls functions of the LTO IR, which the optimizer would
// drop, adds a module of libNVVM's that refers to them. `options` replace
// source.options, and apply to the LTO IR.
absl::StatusOr<ObjectCode> LinkLtoAndPtx(
    const LinkSource& source, absl::Span<const Option> options,
    const NvJitLinker& linker, const absl::StatusOr<NvvmCompiler>& nvvm);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_LTO_PTX_LINKER_H_
