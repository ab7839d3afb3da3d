// SPDX-License-Identifier: Apache-2.0
//
// An address is a number of 64 bits until the access itself, where it becomes a
// pointer: LLVM then knows nothing of what it points to, and moves no access
// over the test of the number.
#include "core/software/jit/addresses.h"

#include "core/software/jit/spaces.h"

namespace holdfast::software::jit {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

// start + offset, where `start` may be noted from an instruction in front. The
// note is what makes a test cheap: several accesses to one register at several
// offsets are one frozen value and, if near each other, one test.
Value Addresses::Of(const Step& step, const Operand& operand,
                    Space space) const {
  const bool variable = operand.kind == Operand::Kind::kVariable ||
                        operand.kind == Operand::Kind::kLocalVariable;
  Value address = StartOf(step, operand, space);
  if (variable || operand.offset == 0) return address;
  // The constant comes last, where it becomes part of an access.
  for (llvm::Value*& part : address.parts) {
    llvm::Value* offset = b_.getInt64(static_cast<uint64_t>(operand.offset));
    if (part->getType()->isVectorTy()) offset = b_.Splat(offset);
    part = b_.CreateAdd(part, offset);
  }
  return address;
}

// Returns what an operand without its offset holds, as a register's own type.
Value Addresses::ReadStart(const Step& step, const Operand& operand) const {
  if (operand.kind == Operand::Kind::kVariable ||
      operand.kind == Operand::Kind::kLocalVariable) {
    return operands_.LaneAddress(step.lanes, operand);
  }
  const Value start =
      operands_.Read(step.lanes, operand, operands_.TypeOf(operand));
  const bool is_address = ptx::BitsOf(start.type) >= 32 &&
                          start.type != Type::kF32 && start.type != Type::kF64;
  return is_address ? start : v_.As(start, Type::kU64);
}

// Returns what addresses of the operand count from; null: nothing.
llvm::Value* Addresses::BaseOf(const Operand& operand, Space space) const {
  if (space == Space::kParam) {
    return b_.CreatePtrToInt(c_.parameters, b_.getInt64Ty());
  }
  if (!IsShared(space)) return nullptr;
  return operand.kind == Operand::Kind::kRegister ? c_.shared_window
                                                  : c_.shared;
}

// Addresses of shared memory are offsets that may stand in 32-bit registers.
// They are sign-extended: a lane that is in bounds is then right even if
// another wraps.
llvm::Value* Addresses::Widened(llvm::Value* part, Space space) const {
  llvm::Type* wide = b_.Like(part, b_.getInt64Ty());
  if (!IsShared(space)) return b_.CreateZExtOrTrunc(part, wide);
  llvm::Type* narrow = b_.Like(part, b_.getInt32Ty());
  return b_.CreateSExt(b_.CreateTrunc(part, narrow), wide);
}

// Returns the addresses without the offset of a register.
Value Addresses::StartOf(const Step& step, const Operand& operand,
                         Space space) const {
  const bool is_register = operand.kind == Operand::Kind::kRegister;
  if (is_register) {
    const TestedAddress* known = notes_.FindAddress(operand.index, space);
    if (known != nullptr) return known->start;
  }
  Value address = ReadStart(step, operand);
  llvm::Value* base = BaseOf(operand, space);
  for (llvm::Value*& part : address.parts) {
    if (is_register) part = b_.CreateFreeze(part);
    part = Widened(part, space);
    if (base == nullptr) continue;
    part = b_.CreateAdd(part,
                        part->getType()->isVectorTy() ? b_.Splat(base) : base);
  }
  address.type = Type::kU64;
  address.shape.zeros = 0;  // as far as is known
  if (is_register && !step.guarded()) {
    notes_.tested[operand.index] = {address, space};
  }
  return address;
}

llvm::Value* Addresses::SafeAddress(llvm::Value* address,
                                    llvm::Value* wanted) const {
  return b_.CreateSelect(wanted, address,
                         b_.CreatePtrToInt(c_.parameters, b_.getInt64Ty()));
}

}  // namespace holdfast::software::jit
