// SPDX-License-Identifier: Apache-2.0
//
// Emits instructions on matrices that the lanes of a warp hold together:
// ldmatrix, stmatrix, movmatrix and mma.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_MATRIX_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_MATRIX_EMITTER_H_

#include <functional>

#include "core/software/jit/memory_access.h"
#include "core/software/jit/register_arrays.h"

namespace holdfast::software::jit {

class MatrixEmitter {
 public:
  MatrixEmitter(const EmitContext& context, const Operands& operands,
                const Addresses& addresses, const MemoryAccess& access)
      : c_(context),
        b_(context.b),
        v_(context.b),
        runtime_(context),
        operands_(operands),
        addresses_(addresses),
        access_(access),
        registers_(context, operands) {}

  // Emits ldmatrix. Operands: {d, ...}, [row]. Each lane has the address of a
  // row of eight 16-bit elements. Lanes 8 * i to 8 * i + 7 have the rows of
  // matrix i.
  void EmitLoad(const Step& step) const;
  // Emits stmatrix. Operands: [row], {a, ...}. Rows as for EmitLoad.
  void EmitStore(const Step& step) const;
  // Emits movmatrix, which transposes a matrix of eight rows and columns.
  // Operands: d, a.
  void EmitTranspose(const Step& step) const;
  // Emits mma. Operands: {d, ...}, {a, ...}, {b, ...}, {c, ...}.
  void EmitProduct(const Step& step);

 private:
  // A number that depends on the lane.
  using OfLane = std::function<int(int lane)>;

  llvm::Value* Constants(llvm::Type* element, int chunk,
                         const OfLane& number) const;
  // Returns the value that lane `from(i)` has, for each lane i.
  Value Permuted(const Value& value, const OfLane& from) const;
  Value Place(const Step& step, const Value& rows, int matrix, int half) const;
  Value LoadOne(const Step& step, const Value& rows, int matrix) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const RuntimeCalls runtime_;
  const Operands& operands_;
  const Addresses& addresses_;
  const MemoryAccess& access_;
  RegisterArrays registers_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_MATRIX_EMITTER_H_
