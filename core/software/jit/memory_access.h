// SPDX-License-Identifier: Apache-2.0
//
// One element a lane, at addresses that have been checked.
//
// The shape of the address decides: uniform, one scalar access; as far apart as
// elements are large, one vector access a chunk; else a gather or scatter.
// Lanes of one instruction take effect in ascending order: where lanes store to
// one place, the value of the highest stays.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_MEMORY_ACCESS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_MEMORY_ACCESS_H_

#include "core/software/jit/addresses.h"
#include "core/software/jit/gather.h"

namespace holdfast::software::jit {

class MemoryAccess {
 public:
  MemoryAccess(const EmitContext& context, const Addresses& addresses)
      : c_(context),
        b_(context.b),
        v_(context.b),
        arrays_(context.b),
        runtime_(context),
        gather_(context),
        addresses_(addresses) {}

  // Lanes that do not run get any value: Operands::Write drops it.
  Value Load(const Step& step, const Value& address, ptx::Type type) const;
  void Store(const Step& step, const Value& address, const Value& value) const;

 private:
  Value LoadUniform(const Step& step, const Value& address, ptx::Type type,
                    llvm::Value* bits) const;
  Value LoadContiguous(const Step& step, const Value& address, ptx::Type type,
                       llvm::Value* bits) const;
  void StoreUniform(const Step& step, const Value& address, const Value& value,
                    llvm::Value* bits) const;
  void StoreContiguous(const Step& step, const Value& address,
                       const Value& value, llvm::Value* bits) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const LaneArrays arrays_;
  const RuntimeCalls runtime_;
  const Gather gather_;
  const Addresses& addresses_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_MEMORY_ACCESS_H_
