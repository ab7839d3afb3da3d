// SPDX-License-Identifier: Apache-2.0
//
// Emits the accesses of generated code to the runtime
// (core/software/abi/abi.h): loads of fields, calls of functions, and the
// notes that the report of a fault needs.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_RUNTIME_CALLS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_RUNTIME_CALLS_H_

#include <string>

#include "absl/types/span.h"
#include "core/software/jit/active_lanes.h"
#include "core/software/jit/emit_context.h"
#include "core/software/jit/lane_arrays.h"

namespace holdfast::software::jit {

class RuntimeCalls {
 public:
  explicit RuntimeCalls(const EmitContext& context)
      : c_(context), b_(context.b), v_(context.b), arrays_(context.b) {}

  // Loads a field of a structure of the runtime. `invariant` tells LLVM that it
  // never changes while the kernel runs, so that one load serves all uses.
  llvm::Value* LoadField(llvm::Value* base, size_t offset, llvm::Type* type,
                         bool invariant) const;
  // Returns the address of a field of the WorkerContext.
  llvm::Value* WorkerField(size_t offset) const;
  // Calls a function of abi.h, whose first argument is always the worker.
  llvm::Value* Call(const char* name, llvm::Type* result,
                    absl::Span<llvm::Value* const> in) const;
  // Calls name(worker, lanes, options..., arrays..., results) for the running
  // lanes; skips the call if no lane runs. Each argument becomes an array of 32
  // values. Returns the array of 32 64-bit results.
  llvm::AllocaInst* CallForLanes(const Step& step, const std::string& name,
                                 absl::Span<llvm::Value* const> options,
                                 absl::Span<const Value> arguments) const;
  // Ends the launch if it has been cancelled. A loop that never ends must poll.
  void PollCancel() const;

  // Store notes for the report of a fault. NoteLanes: the lanes (i32) of the
  // next access. NoteInstruction: the instruction that calls the runtime.
  // SpillAddresses: the lanes' addresses; returns their array.
  void NoteLanes(llvm::Value* bits) const;
  void NoteInstruction(const Step& step) const;
  llvm::Value* SpillAddresses(const Value& addresses) const;

 private:
  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const LaneArrays arrays_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_RUNTIME_CALLS_H_
