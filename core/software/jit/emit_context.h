// SPDX-License-Identifier: Apache-2.0
//
// The data that the emitters of one LLVM function share: the kernel, the facts
// about the kernel, and the values that the function computes at its entry. A
// KernelEmitter emits two functions, full code and masked code, and makes an
// EmitContext for each. Both share the layout of the frame, and the error.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_EMIT_CONTEXT_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_EMIT_CONTEXT_H_

#include <array>
#include <optional>
#include <string>

#include "core/software/analysis/lane_shape.h"
#include "core/software/jit/arithmetic/builder.h"
#include "core/software/jit/host_cpu.h"
#include "core/software/jit/kernel_facts.h"
#include "core/software/jit/warp_frame.h"
#include "core/software/lower/kernel.h"

namespace holdfast::software::jit {

struct EmitContext {
  // The KernelEmitter owns these, and both functions share them.
  Builder& b;
  const lower::Kernel& kernel;
  const KernelFacts& facts;
  WarpFrame& layout;
  std::optional<std::string>& error;

  const analysis::BlockShape block;
  const Cpu cpu;
  const analysis::Mode mode;

  // The function, and values that its entry block computes. They are usable in
  // all blocks of the function.
  llvm::Function* function = nullptr;
  llvm::Value* frame = nullptr;   // ptr; `layout` has the offsets
  llvm::Value* launch = nullptr;  // ptr to LaunchContext
  llvm::Value* worker = nullptr;  // ptr to WorkerContext
  llvm::Value* parameters = nullptr;
  llvm::Value* shared = nullptr;  // i64: the block's shared memory
  // The start from which shared addresses count; i64. If the kernel accesses
  // the shared memory of other blocks, this is the shared memory of the
  // cluster's first block. Otherwise it is `shared`.
  llvm::Value* shared_window = nullptr;
  llvm::Value* local = nullptr;  // i64: the local memory
  llvm::Value* warp = nullptr;   // i32: the number of the warp
  std::array<llvm::Value*, 3> block_index = {};
  std::array<llvm::Value*, 3> grid = {};
  // The extent of the block in each dimension, in threads; i32.
  std::array<llvm::Value*, 3> extent = {};
  llvm::BasicBlock* done = nullptr;  // control goes there when a warp has ended

  llvm::Value* BlockThreads() const {
    return b.CreateMul(b.CreateMul(extent[0], extent[1]), extent[2]);
  }
  // The number of lanes of a chunk, and the number of chunks of a warp.
  int lanes() const { return cpu.lanes; }
  int chunks() const { return analysis::kWarpLanes / cpu.lanes; }
  const analysis::LaneShape& ShapeOf(uint32_t index, analysis::Mode of) const {
    return facts.shapes[static_cast<int>(of)].registers[index];
  }
  ptx::Type TypeOf(uint32_t index) const {
    return kernel.function->registers[index].type;
  }

  // Returns the address of a field of the frame.
  llvm::Value* Slot(uint64_t offset) const {
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), frame, offset);
  }
  // Sets `error` to the reason why the kernel cannot be translated, as
  // "line:column: reason". Does nothing if `error` is set.
  void Fail(const ptx::Instruction& instruction, std::string reason) const;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_EMIT_CONTEXT_H_
