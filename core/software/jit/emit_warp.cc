// SPDX-License-Identifier: Apache-2.0
//
// Emits the operations by which the lanes of a warp exchange values: votes,
// shuffles, matches, reductions.
#include "core/software/jit/kernel_emitter.h"
#include "core/software/runtime/abi.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

namespace {

constexpr uint32_t kAllLanes = 0xFFFFFFFF;

}  // namespace

// Lanes that take part: those that run, of those that the instruction names.
llvm::Value* KernelEmitter::Members(const Instruction& instruction) {
  llvm::Value* exec = ExecBits();
  if (!instruction.modifiers.Has(Modifier::kSync)) return exec;
  const Value members = Read(instruction.operands.back(), Type::kU32);
  if (members.shape.varying) {
    return b_.CreateAnd(exec, OfFirstLane(members, exec));
  }
  return b_.CreateAnd(exec, members.parts[0]);
}

// Lane numbers 0 to 31, as chunk `chunk`.
llvm::Value* KernelEmitter::LaneNumbers(int chunk) {
  return b_.CreateAdd(b_.Iota(b_.getInt32Ty(), 1),
                      b_.Splat(b_.I32(chunk * lanes_)));
}

// For each lane of a chunk the value of lane `index` of the warp.
llvm::Value* KernelEmitter::Pick(const Value& value, llvm::Value* index) {
  if (lanes_ == 16) {
    llvm::Function* permute = llvm::Intrinsic::getDeclaration(
        b_.module(), llvm::Intrinsic::x86_avx512_vpermi2var_d_512);
    return b_.CreateCall(permute, {Vector(value, 0), index, Vector(value, 1)});
  }
  llvm::Function* permute = llvm::Intrinsic::getDeclaration(
      b_.module(), llvm::Intrinsic::x86_avx2_permd);
  llvm::Value* chunk = b_.CreateLShr(index, b_.Splat(b_.I32(3)));
  llvm::Value* result = nullptr;
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* part = b_.CreateCall(permute, {Vector(value, c), index});
    result = result == nullptr
                 ? part
                 : b_.CreateSelect(b_.CreateICmpEQ(chunk, b_.Splat(b_.I32(c))),
                                   part, result);
  }
  return result;
}

// d[|p], a, b, c[, members]: lane j of a, where b and c say which j; p: whether
// j was in the segment.
void KernelEmitter::EmitShuffle(const Instruction& instruction) {
  const auto& operands = instruction.operands;
  const auto& words = instruction.modifiers;
  const size_t first =
      operands.size() - (words.Has(Modifier::kSync) ? 4 : 3);  // a
  const Value value = Read(operands[first], Type::kB32);
  const Value by = Read(operands[first + 1], Type::kB32);
  const Value limits = Read(operands[first + 2], Type::kB32);
  Value result{LaneShape::Varying(), Type::kB32, {}};
  Value inside{LaneShape::Varying(), Type::kPred, {}};
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* lane = LaneNumbers(c);
    llvm::Value* amount = b_.CreateAnd(Vector(by, c), b_.Splat(b_.I32(31)));
    llvm::Value* clamp = b_.CreateAnd(Vector(limits, c), b_.Splat(b_.I32(31)));
    llvm::Value* segment =
        b_.CreateAnd(b_.CreateLShr(Vector(limits, c), b_.Splat(b_.I32(8))),
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
    llvm::Value* good = words.Has(Modifier::kUp)
                            ? b_.CreateICmpSGE(from, bound)
                            : b_.CreateICmpSLE(from, bound);
    result.parts.push_back(Pick(value, b_.CreateSelect(good, from, lane)));
    inside.parts.push_back(good);
  }
  Write(operands[0], result);
  if (first == 2) Write(operands[1], inside);
}

// Votes are arithmetic on the bits of all lanes at once.
void KernelEmitter::EmitVote(const Instruction& instruction) {
  const auto& words = instruction.modifiers;
  llvm::Value* members = Members(instruction);
  llvm::Value* bits = b_.CreateAnd(
      members, BitsOfPredicate(Read(instruction.operands[1], Type::kPred)));
  llvm::Value* all = b_.CreateICmpEQ(bits, members);
  llvm::Value* none = b_.CreateICmpEQ(bits, b_.I32(0));
  Value result = Uniform(Type::kPred, all);
  if (words.Has(Modifier::kBallot)) {
    result = Uniform(Type::kB32, bits);
  } else if (words.Has(Modifier::kAny)) {
    result = Uniform(Type::kPred, b_.CreateNot(none));
  } else if (words.Has(Modifier::kUni)) {
    result = Uniform(Type::kPred, b_.CreateOr(all, none));
  }
  Write(instruction.operands[0], result);
}

// The runtime compares the values (warp_match.cc).
void KernelEmitter::EmitMatch(const Instruction& instruction) {
  const auto& operands = instruction.operands;
  const Value value = Read(operands[operands.size() - 2], instruction.type());
  llvm::Value* members = Members(instruction);
  llvm::AllocaInst* values = Spill(Reshape(value, LaneShape::Varying()));
  const bool wide = ptx::BitsOf(instruction.type()) == 64;
  if (instruction.modifiers.Has(Modifier::kAll)) {
    llvm::Value* same =
        CallRuntime(wide ? "holdfast_match_all64" : "holdfast_match_all32",
                    b_.getInt32Ty(), {values, members});
    Write(operands[0], Uniform(Type::kB32, same));
    if (operands.size() == 4) {
      Write(operands[1],
            Uniform(Type::kPred, b_.CreateICmpNE(same, b_.I32(0))));
    }
    return;
  }
  llvm::AllocaInst* masks = b_.AllocaAtEntry(
      llvm::ArrayType::get(b_.getInt32Ty(), analysis::kWarpLanes));
  CallRuntime(wide ? "holdfast_match_any64" : "holdfast_match_any32",
              b_.getVoidTy(), {values, members, masks});
  Write(operands[0], LoadLanes(masks, Type::kB32));
}

// The lanes' values from an array on the stack.
Value KernelEmitter::LoadLanes(llvm::AllocaInst* array, Type type) {
  llvm::Type* element = b_.TypeOf(type);
  Value result{LaneShape::Varying(), type, {}};
  for (int c = 0; c < chunks_; ++c) {
    result.parts.push_back(b_.CreateAlignedLoad(
        b_.VectorOf(element), b_.CreateConstGEP1_32(element, array, c * lanes_),
        llvm::Align(ptx::BytesOf(type))));
  }
  return result;
}

// d, a, members
void KernelEmitter::EmitRedux(const Instruction& instruction) {
  const Value value = Read(instruction.operands[1], instruction.type());
  Write(instruction.operands[0],
        Uniform(instruction.type(),
                Reduce(instruction, value, Members(instruction))));
}

// add, min, max, and, or, xor over the lanes in `members`. Others contribute
// the neutral element of the operation.
llvm::Value* KernelEmitter::Reduce(const Instruction& instruction,
                                   const Value& value, llvm::Value* members) {
  const auto& words = instruction.modifiers;
  const bool is_signed = ptx::IsSigned(value.type);
  const unsigned bits = ptx::BitsOf(value.type);
  llvm::APInt neutral(bits, 0);
  llvm::Intrinsic::ID reduce = llvm::Intrinsic::vector_reduce_add;
  if (words.Has(Modifier::kMin)) {
    reduce = is_signed ? llvm::Intrinsic::vector_reduce_smin
                       : llvm::Intrinsic::vector_reduce_umin;
    neutral = is_signed ? llvm::APInt::getSignedMaxValue(bits)
                        : llvm::APInt::getMaxValue(bits);
  } else if (words.Has(Modifier::kMax)) {
    reduce = is_signed ? llvm::Intrinsic::vector_reduce_smax
                       : llvm::Intrinsic::vector_reduce_umax;
    if (is_signed) neutral = llvm::APInt::getSignedMinValue(bits);
  } else if (words.Has(Modifier::kAnd)) {
    reduce = llvm::Intrinsic::vector_reduce_and;
    neutral = llvm::APInt::getAllOnes(bits);
  } else if (words.Has(Modifier::kOr)) {
    reduce = llvm::Intrinsic::vector_reduce_or;
  } else if (words.Has(Modifier::kXor)) {
    reduce = llvm::Intrinsic::vector_reduce_xor;
  }
  // All lanes as one vector.
  llvm::SmallVector<llvm::Value*, 4> parts;
  for (int c = 0; c < chunks_; ++c) {
    parts.push_back(b_.CreateSelect(ChunkMask(members, c), Vector(value, c),
                                    b_.Splat(b_.getInt(neutral))));
  }
  while (parts.size() > 1) {
    llvm::SmallVector<llvm::Value*, 4> wider;
    for (size_t i = 0; i < parts.size(); i += 2) {
      const auto lanes = llvm::cast<llvm::FixedVectorType>(parts[i]->getType())
                             ->getNumElements();
      llvm::SmallVector<int, 32> order;
      for (unsigned lane = 0; lane < 2 * lanes; ++lane) {
        order.push_back(static_cast<int>(lane));
      }
      wider.push_back(b_.CreateShuffleVector(parts[i], parts[i + 1], order));
    }
    parts = wider;
  }
  return b_.CreateUnaryIntrinsic(reduce, parts[0]);
}

// d|p, members: the lowest member, and whether a lane is it.
void KernelEmitter::EmitElect(const Instruction& instruction) {
  llvm::Value* leader = b_.CreateBinaryIntrinsic(
      llvm::Intrinsic::cttz, Members(instruction), b_.getFalse());
  Value chosen{LaneShape::Varying(), Type::kPred, {}};
  for (int c = 0; c < chunks_; ++c) {
    chosen.parts.push_back(b_.CreateICmpEQ(LaneNumbers(c), b_.Splat(leader)));
  }
  Write(instruction.operands[0], Uniform(Type::kB32, leader));
  Write(instruction.operands[1], chosen);
}

void KernelEmitter::EmitActivemask(const Instruction& instruction) {
  llvm::Value* mask = LaneMask();
  if (mask == nullptr) mask = b_.I32(kAllLanes);
  Write(instruction.operands[0], Uniform(Type::kB32, mask));
}

void KernelEmitter::EmitFence(const Instruction& instruction) {
  // Stores and loads of a CPU are only ever reordered across a full fence, and
  // warps of a block run on one CPU.
  const auto& words = instruction.modifiers;
  const bool full =
      words.Has(Modifier::kSc) || words.Has(Modifier::kGl) ||
      (instruction.opcode() == Opcode::kMembar && words.Has(Modifier::kSys)) ||
      (instruction.opcode() == Opcode::kFence && !words.Has(Modifier::kCta) &&
       !words.Has(Modifier::kAcquire) && !words.Has(Modifier::kRelease));
  if (full) {
    b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
  } else {
    CompilerFence();
  }
}

// Nothing is moved across, but the CPU is not told.
void KernelEmitter::CompilerFence() {
  b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent,
                 llvm::SyncScope::SingleThread);
}

// Ends the launch if any lane runs it.
void KernelEmitter::EmitTrap(const Instruction& instruction) {
  const auto& operands = instruction.operands;
  llvm::Value* lanes = LaneMask();
  if (lanes == nullptr) lanes = b_.I32(kAllLanes);
  auto* trap = b_.NewBlock("trap");
  auto* go_on = b_.NewBlock("no_trap");
  b_.CreateCondBr(b_.CreateICmpNE(lanes, b_.I32(0)), trap, go_on);
  b_.SetInsertPoint(trap);
  NoteInstruction();
  const uint64_t reason = operands.empty() ? 0 : operands[0].bits;
  CallRuntime("holdfast_trap", b_.getVoidTy(),
              {lanes, b_.I32(static_cast<uint32_t>(reason))});
  b_.CreateBr(go_on);
  b_.SetInsertPoint(go_on);
}

}  // namespace holdfast::software::jit
