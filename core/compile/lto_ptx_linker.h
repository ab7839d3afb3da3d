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

// Links LTO IR and PTX to PTX, which neither nvJitLink nor LinkPtx can do.
// Compiles the LTO IR to one PTX module with `linker`, and joins this module
// with the PTX inputs by LinkPtx. The optimizer would drop functions of the LTO
// IR that only PTX calls: to keep them, compiles a module that refers to them
// with `nvvm`, and links it to the LTO IR. If `nvvm` is needed and is an error,
// returns that error. `options` replace source.options, and apply to the LTO IR
// only. Also fails as NvJitLinker::Link and LinkPtx do.
absl::StatusOr<ObjectCode> LinkLtoAndPtx(
    const LinkSource& source, absl::Span<const Option> options,
    const NvJitLinker& linker, const absl::StatusOr<NvvmCompiler>& nvvm);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_LTO_PTX_LINKER_H_
