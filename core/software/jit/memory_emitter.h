// SPDX-License-Identifier: Apache-2.0
//
// Emits ld, st, isspacep and fences.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_MEMORY_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_MEMORY_EMITTER_H_

#include "core/software/jit/memory_access.h"
#include "core/software/jit/prefetcher.h"
#include "core/software/jit/vector_access.h"

namespace holdfast::software::jit {

class MemoryEmitter {
 public:
  MemoryEmitter(const EmitContext& context, const Operands& operands,
                const Addresses& addresses, const MemoryAccess& memory,
                BlockNotes& notes)
      : c_(context),
        b_(context.b),
        v_(context.b),
        vectors_(context),
        prefetcher_(context, notes),
        operands_(operands),
        addresses_(addresses),
        memory_(memory) {}

  // Emits ld. Operands: d, [a]. `d` may be a vector.
  void EmitLoad(const Step& step) const;
  // Emits st. Operands: [a], b. `b` may be a vector.
  void EmitStore(const Step& step) const;
  // Emits isspacep, which tests whether the generic address `a` lies in a
  // space. Operands: p, a.
  void EmitSpaceTest(const Step& step) const;
  // Emits membar and fence.
  void EmitFence(const Step& step) const;

 private:
  std::vector<Value> LoadElements(const Step& step, const Value& address,
                                  size_t count) const;
  void StoreElements(const Step& step, const Value& address,
                     const std::vector<Value>& elements) const;
  llvm::Value* IsIn(ptx::Modifier space, llvm::Value* address) const;
  llvm::Value* IsConstant(llvm::Value* address) const;
  // Returns an i1, or a vector of i1, that is true if `address` is one of the
  // `bytes` bytes from `base` on. `base` and `bytes` are i64.
  llvm::Value* IsWithin(llvm::Value* address, llvm::Value* base,
                        llvm::Value* bytes) const;
  // Returns the number of bytes, an i64, from the start of the shared memory of
  // a cluster's first block to the end of the shared memory of its last block.
  llvm::Value* ClusterWindowBytes() const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const VectorAccess vectors_;
  const Prefetcher prefetcher_;
  const Operands& operands_;
  const Addresses& addresses_;
  const MemoryAccess& memory_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_MEMORY_EMITTER_H_
