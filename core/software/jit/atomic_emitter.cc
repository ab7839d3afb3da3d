// SPDX-License-Identifier: Apache-2.0
//
// No program can rely on the order of a warp's lanes. It is kept nevertheless,
// lowest first, so that a result which depends on it, such as the place that a
// lane gets in a list, is the same from run to run.
#include "core/software/jit/atomic_emitter.h"

#include "core/software/jit/arithmetic/half.h"
#include "core/software/jit/reduction.h"
#include "core/software/jit/spaces.h"

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

// Whether the order of the lanes does not show in the result. Sums of floats
// do not commute: their rounding depends on the order.
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

// The result of an operation that is no atomic instruction of the CPU.
// inc counts from 0 to the operand and starts again; dec counts down from it,
// and starts again at 0 or above it.
llvm::Value* Combine(Builder& b, RMW::BinOp operation, llvm::Value* old,
                     llvm::Value* value) {
  llvm::Type* type = value->getType();
  auto pick = [&](llvm::CmpInst::Predicate order) {
    return b.CreateSelect(b.CreateICmp(order, old, value), old, value);
  };
  llvm::Value* one =
      type->isIntegerTy() ? llvm::ConstantInt::get(type, 1) : nullptr;
  llvm::Value* none = llvm::Constant::getNullValue(type);
  switch (operation) {
    case RMW::Add:
      return b.CreateAdd(old, value);
    case RMW::FAdd:
      return b.CreateFAdd(old, value);
    case RMW::Min:
      return pick(llvm::CmpInst::ICMP_SLT);
    case RMW::Max:
      return pick(llvm::CmpInst::ICMP_SGT);
    case RMW::UMin:
      return pick(llvm::CmpInst::ICMP_ULT);
    case RMW::UMax:
      return pick(llvm::CmpInst::ICMP_UGT);
    case RMW::And:
      return b.CreateAnd(old, value);
    case RMW::Or:
      return b.CreateOr(old, value);
    case RMW::Xor:
      return b.CreateXor(old, value);
    case RMW::UIncWrap:
      return b.CreateSelect(b.CreateICmpUGE(old, value), none,
                            b.CreateAdd(old, one));
    case RMW::UDecWrap:
      return b.CreateSelect(
          b.CreateOr(b.CreateICmpEQ(old, none), b.CreateICmpUGT(old, value)),
          value, b.CreateSub(old, one));
    default:
      return value;
  }
}

// The operation on one 16-bit float.
llvm::Value* CombineHalf(Builder& b, const Instruction& instruction, Type type,
                         llvm::Value* left, llvm::Value* right) {
  const auto& words = instruction.modifiers;
  llvm::Value* x = FloatOfHalf(b, type, left);
  llvm::Value* y = FloatOfHalf(b, type, right);
  // A float has so many more bits that rounding twice does not show.
  if (words.Has(Modifier::kAdd))
    return HalfOfFloat(b, type, b.CreateFAdd(x, y));
  const bool min = words.Has(Modifier::kMin);
  llvm::Value* first = min ? b.CreateFCmpOLT(x, y) : b.CreateFCmpOGT(x, y);
  llvm::Value* result = b.CreateSelect(first, left, right);
  // Two zeros: the one with the right sign. A NaN and a number: the number.
  llvm::Value* zero = min ? b.CreateOr(left, right) : b.CreateAnd(left, right);
  result = b.CreateSelect(b.CreateFCmpOEQ(x, y), zero, result);
  return b.CreateSelect(b.CreateFCmpUNO(y, y), left, result);
}

// The operation on a 16-bit float, or on each of two in 32 bits.
llvm::Value* CombineHalves(Builder& b, const Instruction& instruction,
                           llvm::Value* x, llvm::Value* y) {
  const Type type = instruction.type();
  if (type != Type::kF16x2 && type != Type::kBF16x2) {
    return CombineHalf(b, instruction, type, x, y);
  }
  const Type half = type == Type::kF16x2 ? Type::kF16 : Type::kBF16;
  llvm::Value* low =
      CombineHalf(b, instruction, half, HalfAt(b, x, 0), HalfAt(b, y, 0));
  llvm::Value* high =
      CombineHalf(b, instruction, half, HalfAt(b, x, 16), HalfAt(b, y, 16));
  return b.CreateOr(b.CreateZExt(low, x->getType()),
                    b.CreateShl(b.CreateZExt(high, x->getType()), 16));
}

}  // namespace

void AtomicEmitter::Emit(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const auto& operands = instruction.operands;
  const bool returns = instruction.opcode() == Opcode::kAtom;
  const size_t at = returns ? 1 : 0;
  const Value address = addresses_.Of(step, operands[at], SpaceOf(instruction));
  const Operand* swapped =
      instruction.modifiers.Has(Modifier::kCas) ? &operands[at + 2] : nullptr;
  addresses_.Check(step, operands[at], SpaceOf(instruction), address);
  if (operands[at + 1].kind != Operand::Kind::kVector) {
    return EmitElement(
        step, {returns ? &operands[0] : nullptr, operands[at + 1], swapped},
        address);
  }
  const auto& elements = operands[at + 1].elements;
  for (size_t i = 0; i < elements.size(); ++i) {
    const bool wanted = returns && i < operands[0].elements.size();
    EmitElement(
        step,
        {wanted ? &operands[0].elements[i] : nullptr, elements[i], nullptr},
        v_.Displaced(address, i * ptx::BytesOf(instruction.type())));
  }
}

// One element of all lanes. A result that goes to the sink, or to a register
// that is never read, is not asked for.
// Halves are never simple, since compare and swap needs a loop of its own for
// each lane; a swap has an operand more.
void AtomicEmitter::EmitElement(const Step& step, const Element& element,
                                const Value& address) const {
  const Type type = step.instruction.type();
  const bool wanted = element.result != nullptr &&
                      element.result->kind == Operand::Kind::kRegister &&
                      c_.facts.ever_read[element.result->index];
  const Value value = operands_.Read(step.lanes, element.operand, type);
  llvm::Value* lanes = step.lanes.MaskOrAll(b_);
  const bool swap = element.swapped != nullptr;
  const bool simple = !wanted && !swap && !IsHalf(type);
  if (simple && address.shape.uniform() &&
      Commutes(OperationOf(step.instruction))) {
    return EmitTogether(step, address, value, lanes);
  }
  if (simple && step.lanes.Mask(b_) == nullptr) {
    return EmitUnrolled(step, address, value);
  }
  Value swapped;
  if (swap) swapped = operands_.Read(step.lanes, *element.swapped, type);
  llvm::AllocaInst* olds =
      EmitLoop(step, address, value, swap ? &swapped : nullptr, lanes, wanted);
  if (wanted) {
    operands_.Write(step.lanes, *element.result, arrays_.LoadLanes(olds, type));
  }
}

// Operands go to arrays first, since a lane's number is known only when the
// loop runs; old values come back by an array as well. Lanes that do not run
// leave their element undefined, and Operands::Write drops it.
llvm::AllocaInst* AtomicEmitter::EmitLoop(
    const Step& step, const Value& address, const Value& value,
    const Value* swapped, llvm::Value* lanes, bool wanted) const {
  llvm::Type* element = b_.TypeOf(step.instruction.type());
  llvm::Value* addresses = runtime_.SpillAddresses(address);
  runtime_.NoteLanes(lanes);
  llvm::AllocaInst* values =
      arrays_.Spill(v_.Reshape(value, LaneShape::Varying()));
  llvm::AllocaInst* swaps =
      swapped == nullptr
          ? nullptr
          : arrays_.Spill(v_.Reshape(*swapped, LaneShape::Varying()));
  llvm::AllocaInst* olds =
      b_.AllocaAtEntry(llvm::ArrayType::get(element, analysis::kWarpLanes));
  arrays_.ForEachLane(lanes, [&](llvm::Value* lane) {
    const auto of_lane = [&](llvm::Type* type, llvm::Value* array) {
      return b_.CreateLoad(type, b_.CreateGEP(type, array, lane));
    };
    llvm::Value* place = v_.Pointer(of_lane(b_.getInt64Ty(), addresses));
    llvm::Value* in = of_lane(element, values);
    llvm::Value* old =
        swapped == nullptr
            ? AtomicOne(step, place, in, {})
            : CompareAndSwap(step, place, in, of_lane(element, swaps), {});
    if (wanted) b_.CreateStore(old, b_.CreateGEP(element, olds, lane));
  });
  return olds;
}

// 32 of them in a row: a loop over lanes costs more than an atomic does in
// shared memory.
void AtomicEmitter::EmitUnrolled(const Step& step, const Value& address,
                                 const Value& value) const {
  for (int lane = 0; lane < analysis::kWarpLanes; ++lane) {
    const int chunk = lane / c_.lanes();
    const auto at = static_cast<uint64_t>(lane % c_.lanes());
    llvm::Value* place = b_.CreateExtractElement(v_.Vector(address, chunk), at);
    llvm::Value* operand = b_.CreateExtractElement(v_.Vector(value, chunk), at);
    AtomicOne(step, v_.Pointer(place), operand, {Kind::kOneLane, lane, false});
  }
}

// All lanes on one place, and the old value is not asked for.
void AtomicEmitter::EmitTogether(const Step& step, const Value& address,
                                 const Value& value, llvm::Value* lanes) const {
  auto* some = b_.NewBlock("atomic");
  auto* after = b_.NewBlock("atomic.done");
  b_.CreateCondBr(b_.CreateICmpNE(lanes, b_.I32(0)), some, after);
  b_.SetInsertPoint(some);
  runtime_.NoteLanes(lanes);
  llvm::Value* total = Reduce(b_, step.instruction, value, lanes);
  AtomicOne(step, v_.Pointer(address.parts[0]), total, {Kind::kSame, 0, true});
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

// One operation of one lane at `place`. Returns the value from before.
// Sequentially consistent, whatever PTX asks for: on x86 a locked instruction
// costs the same in every order.
llvm::Value* AtomicEmitter::AtomicOne(const Step& step, llvm::Value* place,
                                      llvm::Value* value,
                                      const AccessedLanes& lanes) const {
  const Instruction& instruction = step.instruction;
  if (IsHalf(instruction.type())) {
    return AtomicHalf(step, place, value, lanes);
  }
  const RMW::BinOp operation = OperationOf(instruction);
  if (!IsShared(SpaceOf(instruction))) {
    return Mark(
        c_.kernel, step,
        b_.CreateAtomicRMW(operation, place, value, llvm::MaybeAlign(),
                           llvm::AtomicOrdering::SequentiallyConsistent),
        lanes);
  }
  llvm::Value* old =
      Mark(c_.kernel, step, b_.CreateLoad(value->getType(), place), lanes);
  llvm::Value* result = Combine(b_, operation, old, value);
  Mark(c_.kernel, step, b_.CreateStore(result, place), lanes);
  return old;
}

// Reads, computes and swaps until no other thread has written in between.
// The value that CompareAndSwap found is the expected one of the next try, so
// that each round reads memory once.
llvm::Value* AtomicEmitter::AtomicHalf(const Step& step, llvm::Value* place,
                                       llvm::Value* value,
                                       const AccessedLanes& lanes) const {
  llvm::Type* type = value->getType();
  llvm::Value* seen = Mark(c_.kernel, step, b_.CreateLoad(type, place), lanes);
  auto* before = b_.GetInsertBlock();
  auto* again = b_.NewBlock("atomic.again");
  auto* after = b_.NewBlock("atomic.changed");
  b_.CreateBr(again);
  b_.SetInsertPoint(again);
  auto* old = b_.CreatePHI(type, 2);
  old->addIncoming(seen, before);
  llvm::Value* now = CompareAndSwap(
      step, place, old, CombineHalves(b_, step.instruction, old, value), lanes);
  old->addIncoming(now, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpEQ(now, old), after, again);
  b_.SetInsertPoint(after);
  return old;
}

// Returns the value from before, whether or not it was swapped.
llvm::Value* AtomicEmitter::CompareAndSwap(const Step& step, llvm::Value* place,
                                           llvm::Value* expected,
                                           llvm::Value* value,
                                           const AccessedLanes& lanes) const {
  if (IsShared(SpaceOf(step.instruction))) {
    llvm::Value* old =
        Mark(c_.kernel, step, b_.CreateLoad(value->getType(), place), lanes);
    Mark(
        c_.kernel, step,
        b_.CreateStore(
            b_.CreateSelect(b_.CreateICmpEQ(old, expected), value, old), place),
        lanes);
    return old;
  }
  return b_.CreateExtractValue(
      Mark(c_.kernel, step,
           b_.CreateAtomicCmpXchg(place, expected, value, llvm::MaybeAlign(),
                                  llvm::AtomicOrdering::SequentiallyConsistent,
                                  llvm::AtomicOrdering::SequentiallyConsistent),
           lanes),
      0);
}

}  // namespace holdfast::software::jit
