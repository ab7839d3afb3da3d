// SPDX-License-Identifier: Apache-2.0
//
// In full code all 32 lanes are at hand in registers, so a shuffle is a
// permutation of vectors, a vote is arithmetic on one word, and none of them
// waits for anything. In masked code the same code runs for the lanes that have
// met (MaskedPath::ConvergeWarp); values of others are read and dropped.
#include "core/software/jit/warp_emitter.h"

#include "core/software/jit/reduction.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Type;

// Lanes that take part: those that run, of those that the instruction names.
llvm::Value* WarpEmitter::Members(const Step& step) const {
  const Instruction& instruction = step.instruction;
  llvm::Value* exec = step.lanes.Exec(b_);
  if (!instruction.modifiers.Has(Modifier::kSync)) return exec;
  const Value members =
      operands_.Read(step.lanes, instruction.operands.back(), Type::kU32);
  if (members.shape.varying) {
    return b_.CreateAnd(exec, arrays_.OfFirstLane(members, exec));
  }
  return b_.CreateAnd(exec, members.parts[0]);
}

// For each lane of a chunk the value of lane `index` of the warp.
// AVX-512 permutes out of two vectors, which are the whole warp. AVX2 permutes
// within one: each of the four is permuted with the low three bits of the
// index, and the high two choose among the results.
llvm::Value* WarpEmitter::Pick(const Value& value, llvm::Value* index) const {
  if (c_.lanes() == 16) {
    llvm::Function* permute = llvm::Intrinsic::getDeclaration(
        b_.module(), llvm::Intrinsic::x86_avx512_vpermi2var_d_512);
    return b_.CreateCall(permute,
                         {v_.Vector(value, 0), index, v_.Vector(value, 1)});
  }
  llvm::Function* permute = llvm::Intrinsic::getDeclaration(
      b_.module(), llvm::Intrinsic::x86_avx2_permd);
  llvm::Value* chunk = b_.CreateLShr(index, b_.Splat(b_.I32(3)));
  llvm::Value* result = nullptr;
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* part = b_.CreateCall(permute, {v_.Vector(value, c), index});
    result = result == nullptr
                 ? part
                 : b_.CreateSelect(b_.CreateICmpEQ(chunk, b_.Splat(b_.I32(c))),
                                   part, result);
  }
  return result;
}

// Where the lanes of a chunk look, by the operands b and c of shfl.
// c is, by PTX: bits 0 to 4 the clamp, bits 8 to 12 the mask of a segment's
// number. So a warp can be split into segments of 2^n lanes, whose lowest lane
// is `low`, and `bound` is the last lane (up: the first) that a source may be.
// A source beyond it is the lane itself, and the predicate says so.
WarpEmitter::Source WarpEmitter::ShuffleSource(const Instruction& instruction,
                                               const Value& by,
                                               const Value& limits,
                                               int chunk) const {
  const auto& words = instruction.modifiers;
  llvm::Value* lane = v_.LaneNumbers(chunk);
  llvm::Value* amount =
      b_.CreateAnd(v_.Vector(by, chunk), b_.Splat(b_.I32(31)));
  llvm::Value* clamp =
      b_.CreateAnd(v_.Vector(limits, chunk), b_.Splat(b_.I32(31)));
  llvm::Value* segment =
      b_.CreateAnd(b_.CreateLShr(v_.Vector(limits, chunk), b_.Splat(b_.I32(8))),
                   b_.Splat(b_.I32(31)));
  llvm::Value* others = b_.CreateNot(segment);
  llvm::Value* low = b_.CreateAnd(lane, segment);
  llvm::Value* bound = b_.CreateOr(low, b_.CreateAnd(clamp, others));
  llvm::Value* from = nullptr;
  if (words.Has(Modifier::kUp)) {
    from = b_.CreateSub(lane, amount);
  } else if (words.Has(Modifier::kDown)) {
    from = b_.CreateAdd(lane, amount);
  } else if (words.Has(Modifier::kBfly)) {
    from = b_.CreateXor(lane, amount);
  } else {
    from = b_.CreateOr(low, b_.CreateAnd(amount, others));
  }
  llvm::Value* good = words.Has(Modifier::kUp) ? b_.CreateICmpSGE(from, bound)
                                               : b_.CreateICmpSLE(from, bound);
  return {b_.CreateSelect(good, from, lane), good};
}

void WarpEmitter::EmitShuffle(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const auto& operands = instruction.operands;
  const auto& words = instruction.modifiers;
  const size_t first =
      operands.size() - (words.Has(Modifier::kSync) ? 4 : 3);  // a
  const Value value = operands_.Read(step.lanes, operands[first], Type::kB32);
  const Value by = operands_.Read(step.lanes, operands[first + 1], Type::kB32);
  const Value limits =
      operands_.Read(step.lanes, operands[first + 2], Type::kB32);
  Value result{LaneShape::Varying(), Type::kB32, {}};
  Value inside{LaneShape::Varying(), Type::kPred, {}};
  for (int c = 0; c < c_.chunks(); ++c) {
    const Source source = ShuffleSource(instruction, by, limits, c);
    result.parts.push_back(Pick(value, source.lane));
    inside.parts.push_back(source.inside);
  }
  operands_.Write(step.lanes, operands[0], result);
  if (first == 2) operands_.Write(step.lanes, operands[1], inside);
}

// Votes are arithmetic on the bits of all lanes at once.
void WarpEmitter::EmitVote(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const auto& words = instruction.modifiers;
  llvm::Value* members = Members(step);
  llvm::Value* bits = b_.CreateAnd(
      members, v_.BitsOfPredicate(operands_.Read(
                   step.lanes, instruction.operands[1], Type::kPred)));
  llvm::Value* all = b_.CreateICmpEQ(bits, members);
  llvm::Value* none = b_.CreateICmpEQ(bits, b_.I32(0));
  Value result = v_.Uniform(Type::kPred, all);
  if (words.Has(Modifier::kBallot)) {
    result = v_.Uniform(Type::kB32, bits);
  } else if (words.Has(Modifier::kAny)) {
    result = v_.Uniform(Type::kPred, b_.CreateNot(none));
  } else if (words.Has(Modifier::kUni)) {
    result = v_.Uniform(Type::kPred, b_.CreateOr(all, none));
  }
  operands_.Write(step.lanes, instruction.operands[0], result);
}

// The runtime compares the values (warp_match.cc).
void WarpEmitter::EmitMatch(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const auto& operands = instruction.operands;
  const Value value = operands_.Read(step.lanes, operands[operands.size() - 2],
                                     instruction.type());
  llvm::Value* members = Members(step);
  llvm::AllocaInst* values =
      arrays_.Spill(v_.Reshape(value, LaneShape::Varying()));
  const bool wide = ptx::BitsOf(instruction.type()) == 64;
  if (instruction.modifiers.Has(Modifier::kAll)) {
    llvm::Value* same =
        runtime_.Call(wide ? "holdfast_match_all64" : "holdfast_match_all32",
                      b_.getInt32Ty(), {values, members});
    operands_.Write(step.lanes, operands[0], v_.Uniform(Type::kB32, same));
    if (operands.size() == 4) {
      operands_.Write(
          step.lanes, operands[1],
          v_.Uniform(Type::kPred, b_.CreateICmpNE(same, b_.I32(0))));
    }
    return;
  }
  llvm::AllocaInst* masks = b_.AllocaAtEntry(
      llvm::ArrayType::get(b_.getInt32Ty(), analysis::kWarpLanes));
  runtime_.Call(wide ? "holdfast_match_any64" : "holdfast_match_any32",
                b_.getVoidTy(), {values, members, masks});
  operands_.Write(step.lanes, operands[0],
                  arrays_.LoadLanes(masks, Type::kB32));
}

// d, a, members
void WarpEmitter::EmitRedux(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const Value value =
      operands_.Read(step.lanes, instruction.operands[1], instruction.type());
  operands_.Write(step.lanes, instruction.operands[0],
                  v_.Uniform(instruction.type(),
                             Reduce(b_, instruction, value, Members(step))));
}

// d|p, members: the lowest member, and whether a lane is it.
void WarpEmitter::EmitElect(const Step& step) const {
  const Instruction& instruction = step.instruction;
  llvm::Value* leader = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz,
                                                 Members(step), b_.getFalse());
  Value chosen{LaneShape::Varying(), Type::kPred, {}};
  for (int c = 0; c < c_.chunks(); ++c) {
    chosen.parts.push_back(
        b_.CreateICmpEQ(v_.LaneNumbers(c), b_.Splat(leader)));
  }
  operands_.Write(step.lanes, instruction.operands[0],
                  v_.Uniform(Type::kB32, leader));
  operands_.Write(step.lanes, instruction.operands[1], chosen);
}

void WarpEmitter::EmitActivemask(const Step& step) const {
  const Instruction& instruction = step.instruction;
  operands_.Write(step.lanes, instruction.operands[0],
                  v_.Uniform(Type::kB32, step.lanes.MaskOrAll(b_)));
}

}  // namespace holdfast::software::jit
