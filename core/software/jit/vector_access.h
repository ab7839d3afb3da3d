// SPDX-License-Identifier: Apache-2.0
//
// Emits loads and stores of two or four elements for each lane, such as ld.v4.
// The elements of a lane are adjacent in memory.
//
// There are two methods. In groups: one vector access moves the elements of one
// or several lanes, and shuffles transpose lanes and elements. Whole: a loop
// over the lanes moves all elements of a lane by one instruction. The second
// method is for accesses that other threads must see as indivisible.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_VECTOR_ACCESS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_VECTOR_ACCESS_H_

#include <vector>

#include "core/software/jit/access_marker.h"
#include "core/software/jit/emit_context.h"
#include "core/software/jit/lane_arrays.h"
#include "core/software/jit/lane_transpose.h"
#include "core/software/jit/runtime_calls.h"

namespace holdfast::software::jit {

class VectorAccess {
 public:
  explicit VectorAccess(const EmitContext& context)
      : c_(context),
        b_(context.b),
        v_(context.b),
        arrays_(context.b),
        transpose_(context.b),
        runtime_(context) {}

  // Returns true if the access can be made in groups: no lane is masked off,
  // and the lanes' addresses and the size of the elements allow it.
  bool InGroups(const Step& step, const Value& address, ptx::Type type,
                size_t count) const;
  // Emit a load or a store in groups. There is one Value for each element, with
  // the parts of all chunks. REQUIRES: InGroups() is true.
  std::vector<Value> LoadGroups(const Step& step, const Value& address,
                                ptx::Type type, size_t count) const;
  void StoreGroups(const Step& step, const Value& address,
                   absl::Span<const Value> elements) const;
  // Emit a load or a store of all elements of a lane by one instruction: as one
  // number of up to 64 bits, or as two numbers of 64 bits.
  std::vector<Value> LoadWhole(const Step& step, const Value& address,
                               ptx::Type type, size_t count) const;
  void StoreWhole(const Step& step, const Value& address,
                  absl::Span<const Value> elements) const;

 private:
  llvm::Value* GroupPointer(const Value& address, int lane) const;
  AccessedLanes GroupLanes(int lane, int groups) const;
  Value WordOf(absl::Span<const Value> elements, int first_bit, int bits) const;
  Value ElementOf(absl::Span<const Value> words, ptx::Type type,
                  size_t i) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const LaneArrays arrays_;
  const LaneTranspose transpose_;
  const RuntimeCalls runtime_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_VECTOR_ACCESS_H_
