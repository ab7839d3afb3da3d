// SPDX-License-Identifier: Apache-2.0
//
// Emits loads and stores of one element for each lane, at addresses that are
// not contiguous. gather.cc lists the instruction sequences.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_GATHER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_GATHER_H_

#include "core/software/jit/access_marker.h"
#include "core/software/jit/emit_context.h"
#include "core/software/jit/lane_arrays.h"
#include "core/software/jit/runtime_calls.h"

namespace holdfast::software::jit {

class Gather {
 public:
  explicit Gather(const EmitContext& context)
      : c_(context),
        b_(context.b),
        v_(context.b),
        arrays_(context.b),
        runtime_(context) {}

  // Emits a load by the lanes in the mask `bits` (i32); null: by all lanes.
  // Returns the loaded value, which is unspecified in other lanes.
  Value Load(const Step& step, const Value& address, ptx::Type type,
             llvm::Value* bits) const;
  // Emits a store by the lanes in the mask `bits` (i32), which is not null. If
  // two lanes store to one address, the higher lane's value remains, here and
  // in StoreAll.
  void Store(const Step& step, const Value& address, const Value& value,
             llvm::Value* bits) const;
  // Emits a store by all lanes, without a loop.
  void StoreAll(const Step& step, const Value& address,
                const Value& value) const;

 private:
  bool ByEight(ptx::Type type) const;
  llvm::Value* Half(llvm::Value* vector, int half) const;
  llvm::Value* Whole(llvm::Value* low, llvm::Value* high) const;
  Value LoadListed(const Step& step, const Value& address, ptx::Type type,
                   llvm::Value* bits) const;
  Value LoadStrided(const Step& step, const Value& address,
                    ptx::Type type) const;
  Value LoadByOffset(const Step& step, const Value& address, ptx::Type type,
                     llvm::Value* bits) const;
  llvm::Value* LoadByEight(const Step& step, llvm::Value* from, ptx::Type type,
                           llvm::Value* mask, int lane) const;
  llvm::Value* LoadOneByOne(const Step& step, llvm::Value* from, ptx::Type type,
                            int lane) const;
  void StoreByEight(const Step& step, const Value& address, const Value& value,
                    llvm::Value* bits) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const LaneArrays arrays_;
  const RuntimeCalls runtime_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_GATHER_H_
