// SPDX-License-Identifier: Apache-2.0
//
// Emits loads and stores of one element per lane, at addresses that have been
// checked.
//
// The shape of the address decides which code is emitted. A uniform address
// becomes one scalar access, and contiguous elements become one vector access
// for each chunk. All others become a gather or a scatter. Masked contiguous
// stores also become a scatter on CPUs where they are slow. Lanes take effect
// in ascending order: if several lanes store to one address, the highest lane's
// value remains.
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

  // Emit a load or a store by the lanes of `step`. Load returns the loaded
  // value, which is unspecified in lanes that do not run; Operands::Write drops
  // it there.
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
