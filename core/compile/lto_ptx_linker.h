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

// LTO IR and PTX to PTX, which neither nvJitLink nor LinkPtx makes: the LTO IR
// becomes one PTX, and that is joined with the others as LinkPtx says.
// `options` stand for source.options; they are for the LTO IR. libNVVM is asked
// where PTX calls functions of the LTO IR, which optimizing would drop.
absl::StatusOr<ObjectCode> LinkLtoAndPtx(
    const LinkSource& source, absl::Span<const Option> options,
    const NvJitLinker& linker, const absl::StatusOr<NvvmCompiler>& nvvm);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_LTO_PTX_LINKER_H_
