// SPDX-License-Identifier: Apache-2.0
//
// A source operand is read as the type that the instruction works on, whatever
// its own is: PTX lets a register of another type of the same size stand there.
// Where a lane runs alone, each value is brought to that lane here, so that the
// emitters above need not know of it.
#include "core/software/jit/operands.h"

#include <cstring>

namespace holdfast::software::jit {

using analysis::LaneShape;
using analysis::Mode;
using ptx::Operand;
using ptx::Space;
using ptx::Special;
using ptx::Type;

Value Operands::OfLane(const ActiveLanes& lanes, const Value& value) const {
  return lanes.alone() ? arrays_.AtLane(value, lanes.lane) : value;
}

// A negated predicate is inverted in the form, or forms, that it is at hand in.
Value Operands::Read(const ActiveLanes& lanes, const Operand& operand,
                     Type type) const {
  switch (operand.kind) {
    case Operand::Kind::kRegister: {
      Value value = registers_.Read(operand.index, c_.mode, lanes);
      if (operand.negated) {
        for (llvm::Value*& part : value.parts) part = b_.CreateNot(part);
        if (value.bits != nullptr) value.bits = b_.CreateNot(value.bits);
      }
      return v_.As(value, type);
    }
    case Operand::Kind::kSpecial:
      return v_.As(
          OfLane(lanes, specials_.Read(static_cast<Special>(operand.index))),
          type);
    case Operand::Kind::kVariable:
    case Operand::Kind::kLocalVariable:
      return v_.As(ReadAddress(lanes, operand), type);
    default:
      return ReadConstant(operand, type);
  }
}

Value Operands::ReadConstant(const Operand& operand, Type type) const {
  // A decimal constant is a double; a narrow operation gets it rounded once.
  uint64_t bits = operand.bits;
  if (operand.kind == Operand::Kind::kFloat64 && type == Type::kF32) {
    double wide;
    std::memcpy(&wide, &bits, sizeof(wide));
    const float narrow = static_cast<float>(wide);
    bits = 0;
    std::memcpy(&bits, &narrow, sizeof(narrow));
  }
  if (type == Type::kPred) return v_.Uniform(type, b_.getInt1(bits != 0));
  llvm::Value* constant =
      b_.getInt(llvm::APInt(64, bits).zextOrTrunc(ptx::BitsOf(type)));
  return v_.Uniform(type, b_.CreateBitCast(constant, b_.TypeOf(type)));
}

// Three masks could apply: the lanes that run in masked code, those of a
// region, and the guard. With a guard, the lanes that it excludes always keep
// their values. Without one, lanes that do not run have a value to keep only if
// they can see the register later.
void Operands::Write(const ActiveLanes& lanes, const Operand& operand,
                     const Value& value) const {
  if (operand.kind != Operand::Kind::kRegister) return;  // the sink
  // The other lanes have values to keep only if there can be others: in masked
  // code, in a region, or under a guard.
  const bool keep = (c_.mode == Mode::kMasked || lanes.region != nullptr) &&
                    !c_.facts.shapes[1].overwrite[operand.index];
  llvm::Value* mask = keep || lanes.guard != nullptr ? lanes.Mask(b_) : nullptr;
  registers_.Write(operand.index, value, c_.mode, mask, lanes);
}

llvm::Value* Operands::VariableAddress(const Operand& operand) const {
  const Space space = c_.kernel.VariableOf(operand).space;
  if (operand.kind != Operand::Kind::kVariable ||
      (space != Space::kGlobal && space != Space::kConst)) {
    return b_.getInt64(c_.kernel.AddressOf(operand));
  }
  llvm::Constant* symbol = b_.module()->getOrInsertGlobal(
      VariableSymbol(operand.index), b_.getInt8Ty());
  return b_.CreateAdd(llvm::ConstantExpr::getPtrToInt(symbol, b_.getInt64Ty()),
                      b_.getInt64(static_cast<uint64_t>(operand.offset)));
}

Value Operands::LaneAddress(const ActiveLanes& lanes,
                            const Operand& operand) const {
  if (c_.kernel.VariableOf(operand).space != ptx::Space::kLocal) {
    return v_.Uniform(Type::kU64, VariableAddress(operand));
  }
  llvm::Value* offset = b_.getInt64(c_.kernel.AddressOf(operand));
  const auto stride = static_cast<int64_t>(c_.kernel.local_bytes);
  return OfLane(lanes, Value{LaneShape{false, true, stride},
                             Type::kU64,
                             {b_.CreateAdd(c_.local, offset)}});
}

// The address as code gets it to see: that of a shared variable tells the block
// of the cluster, if that matters.
Value Operands::ReadAddress(const ActiveLanes& lanes,
                            const Operand& operand) const {
  Value address = LaneAddress(lanes, operand);
  if (c_.kernel.uses_cluster &&
      c_.kernel.VariableOf(operand).space == Space::kShared) {
    address.parts[0] = b_.CreateAdd(address.parts[0],
                                    b_.CreateSub(c_.shared, c_.shared_window));
  }
  return address;
}

Type Operands::TypeOf(const Operand& operand) const {
  return operand.kind == Operand::Kind::kRegister ? c_.TypeOf(operand.index)
                                                  : Type::kU64;
}

}  // namespace holdfast::software::jit
