// SPDX-License-Identifier: Apache-2.0
//
// Computes the addresses of memory operands, and emits the checks that keep
// kernels inside the memory that they may access (address_check.cc explains
// them, and buffer_check.cc those of memcheck mode). Every emitted access must
// follow a Check().
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ADDRESSES_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ADDRESSES_H_

#include "core/software/jit/operands.h"
#include "core/software/jit/runtime_calls.h"

namespace holdfast::software::jit {

// Returns the state space that the instruction names; generic if it names none.
ptx::Space SpaceOf(const ptx::Instruction& instruction);

// Returns true for the shared memory of the block and of its cluster. They are
// accessed alike, because all blocks of a cluster run on one thread.
bool IsShared(ptx::Space space);

class Addresses {
 public:
  Addresses(const EmitContext& context, const Operands& operands,
            BlockNotes& notes)
      : c_(context),
        b_(context.b),
        v_(context.b),
        runtime_(context),
        operands_(operands),
        notes_(notes) {}

  // Returns the 64-bit addresses of the operand, with its offset, in this
  // process.
  Value Of(const Step& step, const ptx::Operand& operand,
           ptx::Space space) const;
  // Emits the check of `address`, the address of `operand`, which the
  // instruction will access. Emits nothing if the address is known to be good.
  void Check(const Step& step, const ptx::Operand& operand, ptx::Space space,
             const Value& address) const;
  // Returns `address` if `wanted` (i1) is true, otherwise an address that can
  // always be read.
  llvm::Value* SafeAddress(llvm::Value* address, llvm::Value* wanted) const;

 private:
  // A BufferSpan in code.
  struct Span {
    llvm::Value* begin;
    llvm::Value* size;
  };

  Value StartOf(const Step& step, const ptx::Operand& operand,
                ptx::Space space) const;
  Value ReadStart(const Step& step, const ptx::Operand& operand) const;
  bool IsGoodVariable(const ptx::Operand& operand, ptx::Space space,
                      uint64_t bytes) const;
  bool IsTested(const Step& step, const ptx::Operand& operand, ptx::Space space,
                const Value& address, uint64_t bytes) const;
  void NoteGood(const ptx::Operand& operand, ptx::Space space,
                uint64_t bytes) const;
  bool BranchIfBad(const Step& step, const Value& address, ptx::Space space,
                   uint64_t bytes, llvm::BasicBlock* bad,
                   llvm::BasicBlock* good) const;
  bool IsExact(ptx::Space space) const;
  bool IsWithin(const ptx::Operand& operand, uint64_t bytes) const;
  uint32_t SpanIndex(const Step& step) const;
  Span SpanOf(const Step& step, ptx::Space space) const;
  llvm::Value* IsOutside(llvm::Value* address, const Span& span,
                         uint64_t bytes) const;
  void BranchIfOutside(const Step& step, const Value& address, ptx::Space space,
                       uint64_t bytes, llvm::BasicBlock* bad,
                       llvm::BasicBlock* good) const;
  void Report(const Step& step, const Value& address, ptx::Space space,
              uint64_t bytes, bool sure) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const RuntimeCalls runtime_;
  const Operands& operands_;
  BlockNotes& notes_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ADDRESSES_H_
