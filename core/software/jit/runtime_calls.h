// SPDX-License-Identifier: Apache-2.0
//
// Emits the accesses of generated code to the runtime
// (core/software/abi/abi.h): loads of fields, calls of functions, and stores of
// the values that the report of a fault needs.
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

  // Emits a load of the field at `offset` in a structure of the runtime. If
  // `invariant` is true, LLVM may use one load for all uses. REQUIRES: an
  // invariant field never changes while the kernel runs.
  llvm::Value* LoadField(llvm::Value* base, size_t offset, llvm::Type* type,
                         bool invariant) const;
  // Returns the address of a field of the WorkerContext.
  llvm::Value* WorkerField(size_t offset) const;
  // Emits a call of a function of abi.h, and returns its result. `in` are the
  // arguments after the first argument, which is always the worker.
  llvm::Value* Call(const char* name, llvm::Type* result,
                    absl::Span<llvm::Value* const> in) const;
  // Emits a call name(worker, lanes, options..., arrays..., results) for the
  // running lanes. Code skips the call if no lane runs. Each of `arguments`
  // becomes an array of 32 values. Returns the array of 32 64-bit results.
  llvm::AllocaInst* CallForLanes(const Step& step, const std::string& name,
                                 absl::Span<llvm::Value* const> options,
                                 absl::Span<const Value> arguments) const;
  // Emits a test that ends the launch if it has been cancelled. Every loop that
  // may not end must contain the test.
  void PollCancel() const;

  // Emit stores of values for the report of a fault to the WorkerContext.
  // NoteLanes stores the lanes (i32) of the next access. NoteInstruction stores
  // the index of the instruction that calls the runtime. SpillAddresses stores
  // the addresses of all lanes, and returns their array.
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
