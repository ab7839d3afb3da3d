// SPDX-License-Identifier: Apache-2.0
//
// Four layers, from the outside: ComputeFloat flushes subnormals to zero (.ftz)
// and saturates (.sat); ComputeFlushed decides on flushing where rounding could
// hide it; ComputeRounded chooses the rounding; ComputeNearest and
// ComputeDirected are the operations. Vector code is to have the bits of an
// H200, which tests/conformance/forms compares.
#include "core/software/jit/arithmetic/float.h"

#include "core/software/jit/arithmetic/approximation.h"
#include "core/software/jit/arithmetic/rounding.h"
#include "core/software/jit/arithmetic/scalar.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

namespace {

// Whether a subnormal result of a float operation may have lost digits.
bool RoundsTwice(const Instruction& instruction) {
  const ptx::Modifiers& words = instruction.modifiers;
  if (instruction.type() != Type::kF32 || words.Has(Modifier::kApprox) ||
      words.Has(Modifier::kFull)) {
    return false;
  }
  switch (instruction.opcode()) {
    case Opcode::kMul:
    case Opcode::kFma:
    case Opcode::kMad:
    case Opcode::kDiv:
    case Opcode::kRcp:
      return true;
    default:
      return false;
  }
}

// Sums and products of float are vector code, all else goes lane by lane.
llvm::Value* ComputeDirected(Builder& ir, const Instruction& instruction,
                             Modifier rounding, Values in) {
  const Opcode opcode = instruction.opcode();
  const bool wide = instruction.type() == Type::kF64;
  const std::string suffix = wide ? "_f64" : "_f32";
  const uint32_t mode =
      static_cast<uint32_t>(rounding) - static_cast<uint32_t>(Modifier::kRn);
  llvm::Type* type = ir.TypeOf(instruction.type());
  auto call = [&](const char* name, Values values) {
    return CallScalar(ir, name + suffix, values, mode, type);
  };
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kSub: {
      llvm::Value* b = opcode == Opcode::kSub ? ir.CreateFNeg(in[1]) : in[1];
      return wide ? call("add", {in[0], b})
                  : RoundDirected(ir, rounding, in[0], nullptr, b);
    }
    case Opcode::kMul:
      return wide ? call("mul", in)
                  : RoundDirected(ir, rounding, in[0], in[1], nullptr);
    case Opcode::kFma:
    case Opcode::kMad:
      return wide ? call("fma", in)
                  : RoundDirected(ir, rounding, in[0], in[1], in[2]);
    case Opcode::kDiv:
      return call("div", in);
    case Opcode::kRcp:
      return call("div", {llvm::ConstantFP::get(in[0]->getType(), 1.0), in[0]});
    case Opcode::kSqrt:
      return call("sqrt", in);
    default:
      return nullptr;
  }
}

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: only the high word of a double
// counts, in and out.
llvm::Value* ReciprocalHigh(Builder& ir, llvm::Value* a, bool root) {
  llvm::Type* integer = ir.Like(a, ir.getInt64Ty());
  auto high = [&](llvm::Value* value) {
    return ir.CreateAnd(ir.CreateBitCast(value, integer),
                        llvm::ConstantInt::get(integer, ~0xFFFFFFFFull));
  };
  auto flush = [&](llvm::Value* value) {
    llvm::Value* tiny =
        ir.CreateFCmpOLT(ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value),
                         llvm::ConstantFP::get(value->getType(), 0x1p-1022));
    llvm::Value* zero = ir.CreateBinaryIntrinsic(
        llvm::Intrinsic::copysign, llvm::ConstantFP::get(value->getType(), 0.0),
        value);
    return ir.CreateSelect(tiny, zero, value);
  };
  llvm::Value* x = flush(ir.CreateBitCast(high(a), a->getType()));
  if (root) x = ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
  llvm::Value* result =
      ir.CreateFDiv(llvm::ConstantFP::get(a->getType(), 1.0), x);
  return flush(ir.CreateBitCast(high(result), a->getType()));
}

llvm::Value* TestProperty(Builder& ir, const Instruction& instruction,
                          llvm::Value* a) {
  const auto& words = instruction.modifiers;
  const unsigned kind = words.Has(Modifier::kFinite)       ? llvm::fcFinite
                        : words.Has(Modifier::kInfinite)   ? llvm::fcInf
                        : words.Has(Modifier::kNotanumber) ? llvm::fcNan
                        : words.Has(Modifier::kNormal)
                            ? llvm::fcNormal | llvm::fcZero
                        : words.Has(Modifier::kSubnormal)
                            ? llvm::fcSubnormal
                            : static_cast<unsigned>(~llvm::fcNan & 0x3FF);
  return ir.createIsFPClass(a, kind);
}

// In double, rounded once: within the documented error.
llvm::Value* ReciprocalRoot(Builder& ir, llvm::Value* a) {
  llvm::Type* wide = ir.Like(a, ir.getDoubleTy());
  llvm::Value* x = ir.CreateFPCast(a, wide);
  return ir.CreateFPCast(
      ir.CreateFDiv(llvm::ConstantFP::get(wide, 1.0),
                    ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x)),
      a->getType());
}

llvm::Value* ComputeNearest(Builder& ir, const Instruction& instruction,
                            Values in) {
  namespace Intrinsic = llvm::Intrinsic;
  const bool high = instruction.modifiers.Has(Modifier::kFtz) &&
                    instruction.type() == Type::kF64;
  switch (instruction.opcode()) {
    case Opcode::kAdd:
      return ir.CreateFAdd(in[0], in[1]);
    case Opcode::kSub:
      return ir.CreateFSub(in[0], in[1]);
    case Opcode::kMul:
      return ir.CreateFMul(in[0], in[1]);
    case Opcode::kFma:
    case Opcode::kMad:
      return ir.CreateIntrinsic(Intrinsic::fma, {in[0]->getType()},
                                {in[0], in[1], in[2]});
    case Opcode::kDiv:
      return ir.CreateFDiv(in[0], in[1]);
    case Opcode::kRcp:
      return high ? ReciprocalHigh(ir, in[0], false)
                  : ir.CreateFDiv(llvm::ConstantFP::get(in[0]->getType(), 1.0),
                                  in[0]);
    case Opcode::kSqrt:
      return ir.CreateUnaryIntrinsic(Intrinsic::sqrt, in[0]);
    case Opcode::kRsqrt:
      return high ? ReciprocalHigh(ir, in[0], true) : ReciprocalRoot(ir, in[0]);
    case Opcode::kNeg:
      return ir.CreateFNeg(in[0]);
    case Opcode::kAbs:
      return ir.CreateUnaryIntrinsic(Intrinsic::fabs, in[0]);
    case Opcode::kCopysign:
      // The sign of the first.
      return ir.CreateBinaryIntrinsic(Intrinsic::copysign, in[1], in[0]);
    case Opcode::kMin:
    case Opcode::kMax:
      return MinMax(ir, instruction, in[0], in[1]);
    case Opcode::kTestp:
      return TestProperty(ir, instruction, in[0]);
    default:
      return Approximate(ir, instruction, in[0]);
  }
}

// Neither flushed nor saturated.
llvm::Value* ComputeRounded(Builder& ir, const Instruction& instruction,
                            Values in) {
  const auto rounding = instruction.modifiers.In(Modifier::kRz, Modifier::kRp);
  return rounding ? ComputeDirected(ir, instruction, *rounding, in)
                  : ComputeNearest(ir, instruction, in);
}

// Decides on flushing before a subnormal result loses digits: by the result
// that is 2^24 times as large.
llvm::Value* ComputeFlushed(Builder& ir, const Instruction& instruction,
                            Values in) {
  namespace Intrinsic = llvm::Intrinsic;
  llvm::SmallVector<llvm::Value*, 4> large(in.begin(), in.end());
  const bool inverse = instruction.opcode() == Opcode::kRcp;
  llvm::Value* scale =
      llvm::ConstantFP::get(in[0]->getType(), inverse ? 0x1p-24 : 0x1p24);
  large[0] = ir.CreateFMul(large[0], scale);
  if (large.size() > 2) large[2] = ir.CreateFMul(large[2], scale);
  llvm::Value* exact = ir.CreateUnaryIntrinsic(
      Intrinsic::fabs, ComputeRounded(ir, instruction, large));
  llvm::Value* result = ComputeRounded(ir, instruction, in);
  llvm::Value* zero = ir.CreateBinaryIntrinsic(
      Intrinsic::copysign, llvm::ConstantFP::get(result->getType(), 0.0),
      result);
  llvm::Value* least = llvm::ConstantFP::get(result->getType(), 0x1p-102);
  return ir.CreateSelect(ir.CreateFCmpOLT(exact, least), zero, result);
}

}  // namespace

// Only floats: there is no .ftz of doubles but in the approximations
// (ReciprocalHigh).
llvm::Value* Flush(Builder& ir, llvm::Value* value) {
  if (!value->getType()->getScalarType()->isFloatTy()) return value;
  llvm::Value* magnitude =
      ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
  llvm::Value* normal = llvm::ConstantFP::get(value->getType(), 0x1p-126);
  llvm::Value* zero = ir.CreateBinaryIntrinsic(
      llvm::Intrinsic::copysign, llvm::ConstantFP::get(value->getType(), 0.0),
      value);
  return ir.CreateSelect(ir.CreateFCmpOLT(magnitude, normal), zero, value);
}

// To [0, 1]. NaN becomes 0, as it is not above it.
llvm::Value* Saturate(Builder& ir, llvm::Value* value) {
  llvm::Value* zero = llvm::ConstantFP::get(value->getType(), 0.0);
  llvm::Value* one = llvm::ConstantFP::get(value->getType(), 1.0);
  llvm::Value* low =
      ir.CreateSelect(ir.CreateFCmpOGT(value, zero), value, zero);
  return ir.CreateSelect(ir.CreateFCmpOLT(low, one), low, one);
}

// min and max in PTX: a NaN loses against a number, unless .NaN asks for it; -0
// is below +0, hence the | or & of bits of equal numbers. With .xorsign the
// magnitudes are compared, and the sign is the product's.
llvm::Value* MinMax(Builder& ir, const Instruction& instruction, llvm::Value* a,
                    llvm::Value* b) {
  const bool min = instruction.opcode() == Opcode::kMin;
  const bool magnitudes = instruction.modifiers.Has(Modifier::kXorsign);
  llvm::Type* type = a->getType();
  llvm::Type* integer = ir.Like(a, ir.getIntNTy(type->getScalarSizeInBits()));
  llvm::Value* signs =
      ir.CreateXor(ir.CreateBitCast(a, integer), ir.CreateBitCast(b, integer));
  if (magnitudes) {
    a = ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
    b = ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, b);
  }
  llvm::Value* less = min ? ir.CreateFCmpOLT(a, b) : ir.CreateFCmpOGT(a, b);
  llvm::Value* chosen = ir.CreateSelect(less, a, b);
  llvm::Value* x = ir.CreateBitCast(a, integer);
  llvm::Value* y = ir.CreateBitCast(b, integer);
  llvm::Value* same = min ? ir.CreateOr(x, y) : ir.CreateAnd(x, y);
  chosen = ir.CreateSelect(ir.CreateFCmpOEQ(a, b), ir.CreateBitCast(same, type),
                           chosen);
  const bool nan = instruction.modifiers.Has(Modifier::kNaN);
  chosen = nan ? ir.CreateSelect(ir.CreateFCmpUNO(a, b),
                                 llvm::ConstantFP::getNaN(type), chosen)
               : ir.CreateSelect(ir.CreateFCmpUNO(b, b), a, chosen);
  if (!magnitudes) return chosen;
  llvm::Value* sign = ir.CreateBitCast(
      ir.CreateAnd(signs, llvm::ConstantInt::get(
                              integer, llvm::APInt::getSignMask(
                                           type->getScalarSizeInBits()))),
      type);
  return ir.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, chosen, sign);
}

llvm::Value* ComputeFloat(Builder& ir, const Instruction& instruction,
                          Values operands) {
  const bool ftz = instruction.modifiers.Has(Modifier::kFtz);
  const bool saturate = instruction.modifiers.Has(Modifier::kSat);
  llvm::SmallVector<llvm::Value*, 4> in(operands.begin(), operands.end());
  if (ftz) {
    for (llvm::Value*& value : in) value = Flush(ir, value);
  }
  const bool early = ftz && RoundsTwice(instruction);
  llvm::Value* result = early ? ComputeFlushed(ir, instruction, in)
                              : ComputeRounded(ir, instruction, in);
  if (result == nullptr) return nullptr;
  if (saturate) result = Saturate(ir, result);
  return ftz && !early ? Flush(ir, result) : result;
}

}  // namespace holdfast::software::jit
