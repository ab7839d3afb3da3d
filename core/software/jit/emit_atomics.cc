// SPDX-License-Identifier: Apache-2.0
//
// atom and red. Lanes take effect one by one, the lowest first, except where
// the order cannot be observed. Four ways, the cheapest that is possible:
//
//   AtomicTogether  one place for all lanes, and no result: lanes are reduced
//                   to one value in registers, then one atomic operation
//   AtomicOfAll     all lanes run, and no result: 32 operations in a row
//   a loop over the lanes that run: everything else
//   AtomicHalf      of 16-bit floats, in that loop: compare and swap, since
//                   CPUs have no such operation
//
// Memory of a block is touched by the one thread that runs the block, so an
// operation there is a load and a store.
#include "core/software/jit/arithmetic/half.h"
#include "core/software/jit/kernel_emitter.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Space;
using ptx::Type;
using Kind = AccessSite::Kind;

namespace {

using RMW = llvm::AtomicRMWInst;

constexpr uint32_t kAllLanes = 0xFFFFFFFF;

RMW::BinOp OperationOf(const Instruction& instruction) {
  const auto& words = instruction.modifiers;
  const Type type = instruction.type();
  const bool is_signed = ptx::IsSigned(type);
  if (words.Has(Modifier::kAdd)) {
    return ptx::IsFloat(type) ? RMW::FAdd : RMW::Add;
  }
  if (words.Has(Modifier::kMin)) return is_signed ? RMW::Min : RMW::UMin;
  if (words.Has(Modifier::kMax)) return is_signed ? RMW::Max : RMW::UMax;
  if (words.Has(Modifier::kInc)) return RMW::UIncWrap;
  if (words.Has(Modifier::kDec)) return RMW::UDecWrap;
  if (words.Has(Modifier::kAnd)) return RMW::And;
  if (words.Has(Modifier::kOr)) return RMW::Or;
  if (words.Has(Modifier::kXor)) return RMW::Xor;
  return RMW::Xchg;
}

// The order of the lanes does not show in the sum.
bool Commutes(RMW::BinOp operation) {
  switch (operation) {
    case RMW::Add:
    case RMW::Min:
    case RMW::Max:
    case RMW::UMin:
    case RMW::UMax:
    case RMW::And:
    case RMW::Or:
    case RMW::Xor:
      return true;
    default:
      return false;
  }
}

bool IsHalf(Type type) {
  return type == Type::kF16 || type == Type::kBF16 || type == Type::kF16x2 ||
         type == Type::kBF16x2;
}

}  // namespace

// [d,] [a], b[, c][, policy]; of vectors one element after the other
void KernelEmitter::EmitAtomic(const Instruction& instruction) {
  const auto& operands = instruction.operands;
  const bool returns = instruction.opcode() == Opcode::kAtom;
  const size_t at = returns ? 1 : 0;
  const Value address = Address(operands[at], SpaceOf(instruction));
  const Operand* swapped =
      instruction.modifiers.Has(Modifier::kCas) ? &operands[at + 2] : nullptr;
  CheckAddress(operands[at], SpaceOf(instruction), address);
  if (operands[at + 1].kind != Operand::Kind::kVector) {
    return EmitAtomicElement(instruction, returns ? &operands[0] : nullptr,
                             address, operands[at + 1], swapped);
  }
  const auto& elements = operands[at + 1].elements;
  for (size_t i = 0; i < elements.size(); ++i) {
    const bool wanted = returns && i < operands[0].elements.size();
    EmitAtomicElement(instruction, wanted ? &operands[0].elements[i] : nullptr,
                      Displaced(address, i * ptx::BytesOf(instruction.type())),
                      elements[i], nullptr);
  }
}

// One element of all lanes. `result` is null, or the sink, if nothing is asked
// for; a register that is never read counts as such.
void KernelEmitter::EmitAtomicElement(const Instruction& instruction,
                                      const Operand* result,
                                      const Value& address,
                                      const Operand& operand,
                                      const Operand* swapped_operand) {
  const Type type = instruction.type();
  const bool wanted = result != nullptr &&
                      result->kind == Operand::Kind::kRegister &&
                      ever_read_[result->index];
  const Space space = SpaceOf(instruction);
  const Value value = Read(operand, type);
  llvm::Value* lanes = LaneMask();
  if (lanes == nullptr) lanes = b_.I32(kAllLanes);
  const bool swap = swapped_operand != nullptr;
  if (!wanted && !swap && !IsHalf(type) && address.shape.uniform() &&
      Commutes(OperationOf(instruction))) {
    return AtomicTogether(instruction, address, value, lanes);
  }
  if (!wanted && !swap && !IsHalf(type) && LaneMask() == nullptr) {
    return AtomicOfAll(instruction, address, value);
  }
  Value swapped;
  if (swap) swapped = Read(*swapped_operand, type);
  llvm::Type* element = b_.TypeOf(type);
  llvm::Value* addresses = SpillAddresses(address);
  NoteLanes(lanes);
  llvm::AllocaInst* values = Spill(Reshape(value, LaneShape::Varying()));
  llvm::AllocaInst* swaps =
      swap ? Spill(Reshape(swapped, LaneShape::Varying())) : nullptr;
  llvm::AllocaInst* olds =
      b_.AllocaAtEntry(llvm::ArrayType::get(element, analysis::kWarpLanes));
  ForEachLane(lanes, [&](llvm::Value* lane) {
    auto of_lane = [&](llvm::Type* kind, llvm::Value* array) {
      return b_.CreateLoad(kind, b_.CreateGEP(kind, array, lane));
    };
    llvm::Value* place = Pointer(of_lane(b_.getInt64Ty(), addresses));
    llvm::Value* in = of_lane(element, values);
    llvm::Value* old = nullptr;
    if (swap) {
      old = CompareAndSwap(place, in, of_lane(element, swaps), space);
    } else {
      old = AtomicOne(instruction, place, in, space);
    }
    if (wanted) b_.CreateStore(old, b_.CreateGEP(element, olds, lane));
  });
  if (wanted) Write(*result, LoadLanes(olds, type));
}

// 32 of them in a row: a loop over lanes costs more than an atomic does in
// shared memory.
void KernelEmitter::AtomicOfAll(const Instruction& instruction,
                                const Value& address, const Value& value) {
  const Space space = SpaceOf(instruction);
  for (int lane = 0; lane < analysis::kWarpLanes; ++lane) {
    const int chunk = lane / lanes_;
    const auto at = static_cast<uint64_t>(lane % lanes_);
    llvm::Value* place = b_.CreateExtractElement(Vector(address, chunk), at);
    llvm::Value* operand = b_.CreateExtractElement(Vector(value, chunk), at);
    atomic_lanes_ = {Kind::kOneLane, lane, false};
    AtomicOne(instruction, Pointer(place), operand, space);
  }
  atomic_lanes_ = {};
}

// All lanes on one place, and the old value is not asked for.
void KernelEmitter::AtomicTogether(const Instruction& instruction,
                                   const Value& address, const Value& value,
                                   llvm::Value* lanes) {
  auto* some = b_.NewBlock("atomic");
  auto* after = b_.NewBlock("atomic.done");
  b_.CreateCondBr(b_.CreateICmpNE(lanes, b_.I32(0)), some, after);
  b_.SetInsertPoint(some);
  NoteLanes(lanes);
  llvm::Value* total = Reduce(instruction, value, lanes);
  atomic_lanes_.kind = Kind::kSame;
  AtomicOne(instruction, Pointer(address.parts[0]), total,
            SpaceOf(instruction));
  atomic_lanes_ = {};
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

template <typename T>
T* KernelEmitter::MarkAtomic(T* access) {
  return Mark(access, atomic_lanes_.kind, atomic_lanes_.lane,
              atomic_lanes_.masked);
}

// One operation of one lane at `place`. Returns the value from before.
llvm::Value* KernelEmitter::AtomicOne(const Instruction& instruction,
                                      llvm::Value* place, llvm::Value* value,
                                      Space space) {
  if (IsHalf(instruction.type())) {
    return AtomicHalf(instruction, place, value, space);
  }
  const RMW::BinOp operation = OperationOf(instruction);
  if (space != Space::kShared) {
    return MarkAtomic(
        b_.CreateAtomicRMW(operation, place, value, llvm::MaybeAlign(),
                           llvm::AtomicOrdering::SequentiallyConsistent));
  }
  llvm::Type* type = value->getType();
  llvm::Value* old = MarkAtomic(b_.CreateLoad(type, place));
  llvm::Value* result = value;
  auto pick = [&](llvm::CmpInst::Predicate order) {
    return b_.CreateSelect(b_.CreateICmp(order, old, value), old, value);
  };
  llvm::Value* one =
      type->isIntegerTy() ? llvm::ConstantInt::get(type, 1) : nullptr;
  llvm::Value* none = llvm::Constant::getNullValue(type);
  switch (operation) {
    case RMW::Add:
      result = b_.CreateAdd(old, value);
      break;
    case RMW::FAdd:
      result = b_.CreateFAdd(old, value);
      break;
    case RMW::Min:
      result = pick(llvm::CmpInst::ICMP_SLT);
      break;
    case RMW::Max:
      result = pick(llvm::CmpInst::ICMP_SGT);
      break;
    case RMW::UMin:
      result = pick(llvm::CmpInst::ICMP_ULT);
      break;
    case RMW::UMax:
      result = pick(llvm::CmpInst::ICMP_UGT);
      break;
    case RMW::And:
      result = b_.CreateAnd(old, value);
      break;
    case RMW::Or:
      result = b_.CreateOr(old, value);
      break;
    case RMW::Xor:
      result = b_.CreateXor(old, value);
      break;
    case RMW::UIncWrap:
      result = b_.CreateSelect(b_.CreateICmpUGE(old, value), none,
                               b_.CreateAdd(old, one));
      break;
    case RMW::UDecWrap:
      result = b_.CreateSelect(
          b_.CreateOr(b_.CreateICmpEQ(old, none), b_.CreateICmpUGT(old, value)),
          value, b_.CreateSub(old, one));
      break;
    default:
      break;
  }
  MarkAtomic(b_.CreateStore(result, place));
  return old;
}

// Reads, computes and swaps until no other thread has written in between.
llvm::Value* KernelEmitter::AtomicHalf(const Instruction& instruction,
                                       llvm::Value* place, llvm::Value* value,
                                       Space space) {
  llvm::Type* type = value->getType();
  llvm::Value* seen = MarkAtomic(b_.CreateLoad(type, place));
  auto* before = b_.GetInsertBlock();
  auto* again = b_.NewBlock("atomic.again");
  auto* after = b_.NewBlock("atomic.changed");
  b_.CreateBr(again);
  b_.SetInsertPoint(again);
  auto* old = b_.CreatePHI(type, 2);
  old->addIncoming(seen, before);
  llvm::Value* now =
      CompareAndSwap(place, old, CombineHalves(instruction, old, value), space);
  old->addIncoming(now, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpEQ(now, old), after, again);
  b_.SetInsertPoint(after);
  return old;
}

// The operation on a 16-bit float, or on each of two in 32 bits.
llvm::Value* KernelEmitter::CombineHalves(const Instruction& instruction,
                                          llvm::Value* a, llvm::Value* b) {
  const Type type = instruction.type();
  if (type != Type::kF16x2 && type != Type::kBF16x2) {
    return CombineHalf(instruction, type, a, b);
  }
  const Type half = type == Type::kF16x2 ? Type::kF16 : Type::kBF16;
  llvm::Value* low =
      CombineHalf(instruction, half, HalfAt(b_, a, 0), HalfAt(b_, b, 0));
  llvm::Value* high =
      CombineHalf(instruction, half, HalfAt(b_, a, 16), HalfAt(b_, b, 16));
  return b_.CreateOr(b_.CreateZExt(low, a->getType()),
                     b_.CreateShl(b_.CreateZExt(high, a->getType()), 16));
}

llvm::Value* KernelEmitter::CombineHalf(const Instruction& instruction,
                                        Type type, llvm::Value* a,
                                        llvm::Value* b) {
  const auto& words = instruction.modifiers;
  llvm::Value* x = FloatOfHalf(b_, type, a);
  llvm::Value* y = FloatOfHalf(b_, type, b);
  // A float has so many more bits that rounding twice does not show.
  if (words.Has(Modifier::kAdd))
    return HalfOfFloat(b_, type, b_.CreateFAdd(x, y));
  const bool min = words.Has(Modifier::kMin);
  llvm::Value* first = min ? b_.CreateFCmpOLT(x, y) : b_.CreateFCmpOGT(x, y);
  llvm::Value* result = b_.CreateSelect(first, a, b);
  // Two zeros: the one with the right sign. A NaN and a number: the number.
  llvm::Value* zero = min ? b_.CreateOr(a, b) : b_.CreateAnd(a, b);
  result = b_.CreateSelect(b_.CreateFCmpOEQ(x, y), zero, result);
  return b_.CreateSelect(b_.CreateFCmpUNO(y, y), a, result);
}

// Returns the value from before, whether or not it was swapped.
llvm::Value* KernelEmitter::CompareAndSwap(llvm::Value* place,
                                           llvm::Value* expected,
                                           llvm::Value* value, Space space) {
  if (space == Space::kShared) {
    llvm::Value* old = MarkAtomic(b_.CreateLoad(value->getType(), place));
    MarkAtomic(b_.CreateStore(
        b_.CreateSelect(b_.CreateICmpEQ(old, expected), value, old), place));
    return old;
  }
  return b_.CreateExtractValue(
      MarkAtomic(
          b_.CreateAtomicCmpXchg(place, expected, value, llvm::MaybeAlign(),
                                 llvm::AtomicOrdering::SequentiallyConsistent,
                                 llvm::AtomicOrdering::SequentiallyConsistent)),
      0);
}

}  // namespace holdfast::software::jit
