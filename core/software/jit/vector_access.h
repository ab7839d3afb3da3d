// SPDX-License-Identifier: Apache-2.0
//
// Loads and stores of two or four elements a lane, such as ld.v4: each lane's
// elements lie side by side, so that they go by one vector, and are sorted by
// element in registers.
//
// Two ways. In groups, for all lanes at once: a vector holds the elements of
// one or several lanes, and shuffles transpose lanes and elements. As a whole,
// lane by lane: for accesses that other threads must see entire.
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

  // Whether all lanes access `count` elements at places of their own.
  bool InGroups(const Step& step, const Value& address, ptx::Type type,
                size_t count) const;
  // By element, each with the parts of all chunks. REQUIRES: InGroups().
  std::vector<Value> LoadGroups(const Step& step, const Value& address,
                                ptx::Type type, size_t count) const;
  void StoreGroups(const Step& step, const Value& address,
                   absl::Span<const Value> elements) const;
  // A lane's elements side by side, moved by one instruction: as one number, or
  // as a pair of 64 bits each.
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
