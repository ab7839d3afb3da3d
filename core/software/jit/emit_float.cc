// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/software/jit/kernel_emitter.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

namespace {

using Values = absl::Span<llvm::Value* const>;

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

// Neither flushing nor saturating.
Instruction Plain(const Instruction& instruction) {
  Instruction plain = instruction;
  auto& words = plain.modifiers.words;
  words.erase(std::remove_if(words.begin(), words.end(),
                             [](Modifier word) {
                               return word == Modifier::kFtz ||
                                      word == Modifier::kSat;
                             }),
              words.end());
  return plain;
}

}  // namespace

llvm::Value* KernelEmitter::ComputeFloat(const Instruction& instruction,
                                         Values operands) {
  const bool ftz = instruction.modifiers.Has(Modifier::kFtz);
  llvm::SmallVector<llvm::Value*, 4> in(operands.begin(), operands.end());
  if (ftz) {
    for (llvm::Value*& value : in) value = Flush(value);
  }
  namespace Intrinsic = llvm::Intrinsic;
  if (ftz && RoundsTwice(instruction)) {
    // What is flushed is decided before digits are lost for being subnormal:
    // by the result that is 2^24 times as large.
    const Instruction plain = Plain(instruction);
    llvm::SmallVector<llvm::Value*, 4> large = in;
    const bool inverse = instruction.opcode() == Opcode::kRcp;
    llvm::Value* scale =
        llvm::ConstantFP::get(in[0]->getType(), inverse ? 0x1p-24 : 0x1p24);
    large[0] = b_.CreateFMul(large[0], scale);
    if (large.size() > 2) large[2] = b_.CreateFMul(large[2], scale);
    llvm::Value* exact =
        b_.CreateUnaryIntrinsic(Intrinsic::fabs, ComputeFloat(plain, large));
    llvm::Value* flushed = ComputeFloat(plain, in);
    llvm::Value* zero = b_.CreateBinaryIntrinsic(
        Intrinsic::copysign, llvm::ConstantFP::get(flushed->getType(), 0.0),
        flushed);
    llvm::Value* least = llvm::ConstantFP::get(flushed->getType(), 0x1p-102);
    flushed = b_.CreateSelect(b_.CreateFCmpOLT(exact, least), zero, flushed);
    const bool saturate = instruction.modifiers.Has(Modifier::kSat);
    return saturate ? Saturate(flushed) : flushed;
  }
  auto one = [&] { return llvm::ConstantFP::get(in[0]->getType(), 1.0); };
  llvm::Value* result = nullptr;
  if (auto rounding = instruction.modifiers.In(Modifier::kRz, Modifier::kRp)) {
    result = ComputeDirected(instruction, *rounding, in);
    if (result == nullptr) return nullptr;
    if (instruction.modifiers.Has(Modifier::kSat)) result = Saturate(result);
    return ftz ? Flush(result) : result;
  }
  switch (instruction.opcode()) {
    case Opcode::kAdd:
      result = b_.CreateFAdd(in[0], in[1]);
      break;
    case Opcode::kCopysign:
      // The sign of the first.
      return b_.CreateBinaryIntrinsic(Intrinsic::copysign, in[1], in[0]);
    case Opcode::kTestp:
      return TestProperty(instruction, in[0]);
    case Opcode::kEx2:
    case Opcode::kLg2:
    case Opcode::kSin:
    case Opcode::kCos:
    case Opcode::kTanh:
      result = Approximate(instruction, in[0]);
      break;
    case Opcode::kSub:
      result = b_.CreateFSub(in[0], in[1]);
      break;
    case Opcode::kMul:
      result = b_.CreateFMul(in[0], in[1]);
      break;
    case Opcode::kFma:
    case Opcode::kMad:
      result = b_.CreateIntrinsic(Intrinsic::fma, {in[0]->getType()},
                                  {in[0], in[1], in[2]});
      break;
    case Opcode::kDiv:
      result = b_.CreateFDiv(in[0], in[1]);
      break;
    case Opcode::kRcp:
      if (ftz && instruction.type() == Type::kF64) {
        return ReciprocalHigh(in[0], false);
      }
      result = b_.CreateFDiv(one(), in[0]);
      break;
    case Opcode::kSqrt:
      result = b_.CreateUnaryIntrinsic(Intrinsic::sqrt, in[0]);
      break;
    case Opcode::kRsqrt: {
      if (ftz && instruction.type() == Type::kF64) {
        return ReciprocalHigh(in[0], true);
      }
      // In double, rounded once: within the documented error.
      llvm::Type* wide = Like(in[0], b_.getDoubleTy());
      llvm::Value* x = b_.CreateFPCast(in[0], wide);
      result = b_.CreateFPCast(
          b_.CreateFDiv(llvm::ConstantFP::get(wide, 1.0),
                        b_.CreateUnaryIntrinsic(Intrinsic::sqrt, x)),
          in[0]->getType());
      break;
    }
    case Opcode::kNeg:
      result = b_.CreateFNeg(in[0]);
      break;
    case Opcode::kAbs:
      result = b_.CreateUnaryIntrinsic(Intrinsic::fabs, in[0]);
      break;
    case Opcode::kMin:
    case Opcode::kMax:
      result = MinMax(instruction, in[0], in[1]);
      break;
    default:
      return nullptr;
  }
  if (instruction.modifiers.Has(Modifier::kSat)) result = Saturate(result);
  return ftz ? Flush(result) : result;
}

// Sums and products of float are vector code, all else goes lane by lane.
llvm::Value* KernelEmitter::ComputeDirected(const Instruction& instruction,
                                            Modifier rounding, Values in) {
  const Opcode opcode = instruction.opcode();
  const bool wide = instruction.type() == Type::kF64;
  const std::string suffix = wide ? "_f64" : "_f32";
  const uint32_t mode =
      static_cast<uint32_t>(rounding) - static_cast<uint32_t>(Modifier::kRn);
  llvm::Type* type = TypeOf(instruction.type());
  auto call = [&](const char* name, Values values) {
    return CallScalar(name + suffix, values, mode, type);
  };
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kSub: {
      llvm::Value* b = opcode == Opcode::kSub ? b_.CreateFNeg(in[1]) : in[1];
      return wide ? call("add", {in[0], b})
                  : RoundDirected(rounding, in[0], nullptr, b);
    }
    case Opcode::kMul:
      return wide ? call("mul", in)
                  : RoundDirected(rounding, in[0], in[1], nullptr);
    case Opcode::kFma:
    case Opcode::kMad:
      return wide ? call("fma", in)
                  : RoundDirected(rounding, in[0], in[1], in[2]);
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
llvm::Value* KernelEmitter::ReciprocalHigh(llvm::Value* a, bool root) {
  llvm::Type* integer = Like(a, b_.getInt64Ty());
  auto high = [&](llvm::Value* value) {
    return b_.CreateAnd(b_.CreateBitCast(value, integer),
                        llvm::ConstantInt::get(integer, ~0xFFFFFFFFull));
  };
  auto flush = [&](llvm::Value* value) {
    llvm::Value* tiny =
        b_.CreateFCmpOLT(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value),
                         llvm::ConstantFP::get(value->getType(), 0x1p-1022));
    llvm::Value* zero = b_.CreateBinaryIntrinsic(
        llvm::Intrinsic::copysign, llvm::ConstantFP::get(value->getType(), 0.0),
        value);
    return b_.CreateSelect(tiny, zero, value);
  };
  llvm::Value* x = flush(b_.CreateBitCast(high(a), a->getType()));
  if (root) x = b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
  llvm::Value* result =
      b_.CreateFDiv(llvm::ConstantFP::get(a->getType(), 1.0), x);
  return flush(b_.CreateBitCast(high(result), a->getType()));
}

llvm::Value* KernelEmitter::TestProperty(const Instruction& instruction,
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
  return b_.createIsFPClass(a, kind);
}

// A number wins over NaN unless .NaN wants the reverse, and -0 is less than
// +0; .xorsign.abs is about magnitudes, with the product's sign.
llvm::Value* KernelEmitter::MinMax(const Instruction& instruction,
                                   llvm::Value* a, llvm::Value* b) {
  const bool min = instruction.opcode() == Opcode::kMin;
  const bool magnitudes = instruction.modifiers.Has(Modifier::kXorsign);
  llvm::Type* type = a->getType();
  llvm::Type* integer = Like(a, b_.getIntNTy(type->getScalarSizeInBits()));
  llvm::Value* signs =
      b_.CreateXor(b_.CreateBitCast(a, integer), b_.CreateBitCast(b, integer));
  if (magnitudes) {
    a = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
    b = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, b);
  }
  llvm::Value* less = min ? b_.CreateFCmpOLT(a, b) : b_.CreateFCmpOGT(a, b);
  llvm::Value* chosen = b_.CreateSelect(less, a, b);
  llvm::Value* x = b_.CreateBitCast(a, integer);
  llvm::Value* y = b_.CreateBitCast(b, integer);
  llvm::Value* same = min ? b_.CreateOr(x, y) : b_.CreateAnd(x, y);
  chosen = b_.CreateSelect(b_.CreateFCmpOEQ(a, b), b_.CreateBitCast(same, type),
                           chosen);
  const bool nan = instruction.modifiers.Has(Modifier::kNaN);
  chosen = nan ? b_.CreateSelect(b_.CreateFCmpUNO(a, b),
                                 llvm::ConstantFP::getNaN(type), chosen)
               : b_.CreateSelect(b_.CreateFCmpUNO(b, b), a, chosen);
  if (!magnitudes) return chosen;
  llvm::Value* sign = b_.CreateBitCast(
      b_.CreateAnd(signs, llvm::ConstantInt::get(
                              integer, llvm::APInt::getSignMask(
                                           type->getScalarSizeInBits()))),
      type);
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, chosen, sign);
}

llvm::Value* KernelEmitter::Flush(llvm::Value* value) {
  if (!value->getType()->getScalarType()->isFloatTy()) return value;
  llvm::Value* magnitude =
      b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
  llvm::Value* normal = llvm::ConstantFP::get(value->getType(), 0x1p-126);
  llvm::Value* zero = b_.CreateBinaryIntrinsic(
      llvm::Intrinsic::copysign, llvm::ConstantFP::get(value->getType(), 0.0),
      value);
  return b_.CreateSelect(b_.CreateFCmpOLT(magnitude, normal), zero, value);
}

// To [0, 1]; NaN becomes 0.
llvm::Value* KernelEmitter::Saturate(llvm::Value* value) {
  llvm::Value* zero = llvm::ConstantFP::get(value->getType(), 0.0);
  llvm::Value* one = llvm::ConstantFP::get(value->getType(), 1.0);
  llvm::Value* low =
      b_.CreateSelect(b_.CreateFCmpOGT(value, zero), value, zero);
  return b_.CreateSelect(b_.CreateFCmpOLT(low, one), low, one);
}

}  // namespace holdfast::software::jit
