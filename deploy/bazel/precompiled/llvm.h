// SPDX-License-Identifier: Apache-2.0
//
// The headers that files of the software driver's compiler include most: those
// of core.h, LLVM's, and the compiler's own. Headers of LLVM's passes and JIT
// are left out: few files use them, and every file would compile 0.3 s longer.
#ifndef DEPLOY_BAZEL_PRECOMPILED_LLVM_H_
#define DEPLOY_BAZEL_PRECOMPILED_LLVM_H_

#include "core/software/analysis/divergence.h"
#include "core/software/analysis/lane_shape.h"
#include "core/software/jit/active_lanes.h"
#include "core/software/jit/addresses.h"
#include "core/software/jit/emit_context.h"
#include "core/software/jit/lane_arrays.h"
#include "core/software/jit/lane_values.h"
#include "core/software/jit/operands.h"
#include "core/software/jit/registers.h"
#include "core/software/jit/runtime_calls.h"
#include "core/software/jit/special_registers.h"
#include "core/software/jit/warp_frame.h"
#include "core/software/lower/kernel.h"
#include "core/software/ptx/ast.h"
#include "deploy/bazel/precompiled/core.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

#endif  // DEPLOY_BAZEL_PRECOMPILED_LLVM_H_
