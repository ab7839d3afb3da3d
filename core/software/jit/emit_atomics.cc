// SPDX-License-Identifier: Apache-2.0
//
// atom and red. Lanes take effect one by one, the lowest first, except where
// nobody can tell.
#include "core/software/jit/kernel_emitter.h"

namespace holdfast::software::jit {

using lower::Shape;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

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

}  // namespace

// [d,] [a], b[, c]
void KernelEmitter::EmitAtomic(const Instruction& instruction) {
  const auto& operands = instruction.operands;
  const bool returns = instruction.opcode() == Opcode::kAtom;
  const size_t at = returns ? 1 : 0;
  const Type type = instruction.type();
  const bool wanted = returns && operands[0].kind == Operand::Kind::kRegister &&
                      ever_read_[operands[0].index];
  const Space space = SpaceOf(instruction);
  const Value address = Address(operands[at], space);
  const Value value = Read(operands[at + 1], type);
  llvm::Value* lanes = LaneMask();
  if (lanes == nullptr) lanes = I32(kAllLanes);
  const bool swap = instruction.modifiers.Has(Modifier::kCas);
  if (!wanted && !swap && address.shape.uniform() &&
      Commutes(OperationOf(instruction))) {
    return AtomicTogether(instruction, address, value, lanes);
  }
  if (!wanted && !swap && LaneMask() == nullptr) {
    return AtomicOfAll(instruction, address, value);
  }
  Value swapped;
  if (swap) swapped = Read(operands[at + 2], type);
  llvm::Type* element = TypeOf(type);
  llvm::AllocaInst* addresses = Spill(Reshape(address, Shape::Varying()));
  llvm::AllocaInst* values = Spill(Reshape(value, Shape::Varying()));
  llvm::AllocaInst* swaps =
      swap ? Spill(Reshape(swapped, Shape::Varying())) : nullptr;
  llvm::AllocaInst* olds =
      Alloca(llvm::ArrayType::get(element, lower::kWarpLanes));
  ForEachLane(lanes, [&](llvm::Value* lane) {
    auto of_lane = [&](llvm::Type* kind, llvm::AllocaInst* array) {
      return b_.CreateLoad(kind, b_.CreateGEP(kind, array, lane));
    };
    llvm::Value* place = Pointer(of_lane(b_.getInt64Ty(), addresses));
    llvm::Value* operand = of_lane(element, values);
    llvm::Value* old = nullptr;
    if (swap) {
      old = CompareAndSwap(place, operand, of_lane(element, swaps), space);
    } else {
      old = AtomicOne(instruction, place, operand, space);
    }
    if (wanted) b_.CreateStore(old, b_.CreateGEP(element, olds, lane));
  });
  if (wanted) Write(operands[0], LoadLanes(olds, type));
}

// 32 of them in a row: a loop over lanes costs more than an atomic does in
// shared memory.
void KernelEmitter::AtomicOfAll(const Instruction& instruction,
                                const Value& address, const Value& value) {
  const Space space = SpaceOf(instruction);
  for (int lane = 0; lane < lower::kWarpLanes; ++lane) {
    const int chunk = lane / lanes_;
    const auto at = static_cast<uint64_t>(lane % lanes_);
    llvm::Value* place = b_.CreateExtractElement(Vector(address, chunk), at);
    llvm::Value* operand = b_.CreateExtractElement(Vector(value, chunk), at);
    AtomicOne(instruction, Pointer(place), operand, space);
  }
}

// All lanes on one place, and nobody asks what was there.
void KernelEmitter::AtomicTogether(const Instruction& instruction,
                                   const Value& address, const Value& value,
                                   llvm::Value* lanes) {
  auto* some = NewBlock("atomic");
  auto* after = NewBlock("atomic.done");
  b_.CreateCondBr(b_.CreateICmpNE(lanes, I32(0)), some, after);
  b_.SetInsertPoint(some);
  llvm::Value* total = Reduce(instruction, value, lanes);
  AtomicOne(instruction, Pointer(address.parts[0]), total,
            SpaceOf(instruction));
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

// Shared memory belongs to the one CPU that runs the block.
llvm::Value* KernelEmitter::AtomicOne(const Instruction& instruction,
                                      llvm::Value* place, llvm::Value* value,
                                      Space space) {
  const RMW::BinOp operation = OperationOf(instruction);
  if (space != Space::kShared) {
    return b_.CreateAtomicRMW(operation, place, value, llvm::MaybeAlign(),
                              llvm::AtomicOrdering::SequentiallyConsistent);
  }
  llvm::Type* type = value->getType();
  llvm::Value* old = b_.CreateLoad(type, place);
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
  b_.CreateStore(result, place);
  return old;
}

llvm::Value* KernelEmitter::CompareAndSwap(llvm::Value* place,
                                           llvm::Value* expected,
                                           llvm::Value* value, Space space) {
  if (space == Space::kShared) {
    llvm::Value* old = b_.CreateLoad(value->getType(), place);
    b_.CreateStore(b_.CreateSelect(b_.CreateICmpEQ(old, expected), value, old),
                   place);
    return old;
  }
  return b_.CreateExtractValue(
      b_.CreateAtomicCmpXchg(place, expected, value, llvm::MaybeAlign(),
                             llvm::AtomicOrdering::SequentiallyConsistent,
                             llvm::AtomicOrdering::SequentiallyConsistent),
      0);
}

}  // namespace holdfast::software::jit
