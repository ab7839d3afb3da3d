// SPDX-License-Identifier: Apache-2.0
//
// An array of 32 elements is the one form in which a lane can be named by a
// number that is known only when code runs: lane i is element i. LLVM keeps
// such arrays in memory, where one store of a vector is followed by loads of
// elements.
#include "core/software/jit/lane_arrays.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Type;

// The lanes' values as an array on the stack.
llvm::AllocaInst* LaneArrays::Spill(const Value& value) const {
  llvm::Type* element = value.parts[0]->getType()->getScalarType();
  llvm::AllocaInst* array =
      b_.AllocaAtEntry(llvm::ArrayType::get(element, analysis::kWarpLanes));
  const llvm::Align align(element->getPrimitiveSizeInBits() / 8);
  for (int c = 0; c < v_.chunks(); ++c) {
    b_.CreateAlignedStore(value.parts[c],
                          b_.CreateConstGEP1_32(element, array, c * v_.lanes()),
                          align);
  }
  return array;
}

// The lanes' values from an array on the stack.
Value LaneArrays::LoadLanes(llvm::AllocaInst* array, Type type) const {
  llvm::Type* element = b_.TypeOf(type);
  Value result{LaneShape::Varying(), type, {}};
  for (int c = 0; c < v_.chunks(); ++c) {
    result.parts.push_back(b_.CreateAlignedLoad(
        b_.VectorOf(element),
        b_.CreateConstGEP1_32(element, array, c * v_.lanes()),
        llvm::Align(ptx::BytesOf(type))));
  }
  return result;
}

// Lowest lane first: `rest` has the lanes that are left, the number of its
// lowest bit is the lane, and rest & (rest - 1) drops it. The body may branch;
// the loop closes at the block where it ends.
void LaneArrays::ForEachLane(
    llvm::Value* bits, const std::function<void(llvm::Value*)>& body) const {
  auto* before = b_.GetInsertBlock();
  auto* loop = b_.NewBlock("lanes");
  auto* after = b_.NewBlock("lanes.done");
  b_.CreateCondBr(b_.CreateICmpEQ(bits, b_.I32(0)), after, loop);
  b_.SetInsertPoint(loop);
  auto* rest = b_.CreatePHI(b_.getInt32Ty(), 2);
  rest->addIncoming(bits, before);
  llvm::Value* lane =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, rest, b_.getTrue());
  body(lane);
  llvm::Value* left = b_.CreateAnd(rest, b_.CreateSub(rest, b_.I32(1)));
  rest->addIncoming(left, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpEQ(left, b_.I32(0)), after, loop);
  b_.SetInsertPoint(after);
}

// The value of the lowest of `lanes`, which are not none.
llvm::Value* LaneArrays::OfFirstLane(const Value& value,
                                     llvm::Value* lanes) const {
  if (value.shape.uniform()) return value.parts[0];
  llvm::AllocaInst* values =
      Spill(v_.Reshape(value, analysis::LaneShape::Varying()));
  llvm::Type* element = value.parts[0]->getType()->getScalarType();
  llvm::Value* lane =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, lanes, b_.getTrue());
  return b_.CreateLoad(element, b_.CreateGEP(element, values, lane));
}

// Returns a value as one lane has it.
// An affine value over the warp is computed; one over chunks would need the
// lane's chunk as well, and goes by an array as a varying one does.
Value LaneArrays::AtLane(const Value& value, llvm::Value* lane) const {
  if (value.shape.uniform()) return value;
  if (value.type == Type::kPred) {
    llvm::Value* bits =
        v_.BitsOfPredicate(v_.Reshape(value, LaneShape::Varying()));
    return v_.Uniform(
        value.type, b_.CreateTrunc(b_.CreateLShr(bits, lane), b_.getInt1Ty()));
  }
  if (!value.shape.varying && value.shape.wide) {
    return v_.Uniform(value.type, b_.CreateAdd(value.parts[0],
                                               DistanceOf(value.parts[0],
                                                          value.shape, lane)));
  }
  llvm::Type* element = value.parts[0]->getType()->getScalarType();
  llvm::AllocaInst* values = Spill(v_.Reshape(value, LaneShape::Varying()));
  return v_.Uniform(
      value.type, b_.CreateLoad(element, b_.CreateGEP(element, values, lane)));
}

// Returns how far `lane` of a unit lies from the unit's base.
llvm::Value* LaneArrays::DistanceOf(llvm::Value* base, const LaneShape& shape,
                                    llvm::Value* lane) const {
  llvm::Type* type = base->getType();
  return b_.CreateMul(b_.CreateZExtOrTrunc(lane, type),
                      llvm::ConstantInt::get(type, shape.stride, true));
}

}  // namespace holdfast::software::jit
