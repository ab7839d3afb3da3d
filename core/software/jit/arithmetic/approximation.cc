// SPDX-License-Identifier: Apache-2.0
//
// ex2, lg2, sin, cos and tanh in double, by reduction to a small interval and a
// polynomial there; the result is rounded to float once, and stays within the
// errors that PTX allows. No table and no branch: all lanes take the same
// steps.
#include "core/software/jit/arithmetic/approximation.h"

#include <array>

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;

namespace {

constexpr double kLn2 = 0.6931471805599453;
constexpr double kTwoPi = 6.283185307179586;
constexpr double kTwoPiLow = 2.4492935982947064e-16;

// c[0] + x * (c[1] + x * ...)
llvm::Value* Polynomial(Builder& ir, llvm::Value* x,
                        absl::Span<const double> c) {
  llvm::Value* sum = ir.DoubleLike(x, c.back());
  for (size_t i = c.size() - 1; i-- > 0;) {
    sum = ir.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()},
                             {sum, x, ir.DoubleLike(x, c[i])});
  }
  return sum;
}

// Beyond the range of float the result need not be exact, only large or small.
// 2^x = 2^whole * e^(rest * ln 2) with |rest| <= 1/2, so that ten terms of the
// series reach beyond float; 2^whole is made as the exponent of a double.
llvm::Value* Exp2(Builder& ir, llvm::Value* x) {
  namespace Intrinsic = llvm::Intrinsic;
  llvm::Type* integer = ir.Like(x, ir.getInt64Ty());
  llvm::Value* inside = ir.CreateBinaryIntrinsic(
      Intrinsic::maxnum,
      ir.CreateBinaryIntrinsic(Intrinsic::minnum, x, ir.DoubleLike(x, 400)),
      ir.DoubleLike(x, -400));
  llvm::Value* whole = ir.CreateUnaryIntrinsic(Intrinsic::roundeven, inside);
  llvm::Value* rest =
      ir.CreateFMul(ir.CreateFSub(inside, whole), ir.DoubleLike(x, kLn2));
  static constexpr std::array<double, 10> kExp = {
      1.0,       1.0,       1.0 / 2,    1.0 / 6,     1.0 / 24,
      1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880};
  llvm::Value* power = Polynomial(ir, rest, kExp);
  // whole + 1023 as the exponent of a double: 2^52 + n has n in its low bits.
  llvm::Value* biased = ir.CreateFAdd(whole, ir.DoubleLike(x, 0x1p52 + 1023));
  llvm::Value* scale = ir.CreateBitCast(
      ir.CreateShl(ir.CreateBitCast(biased, integer), 52), x->getType());
  llvm::Value* result = ir.CreateFMul(power, scale);
  return ir.CreateSelect(ir.CreateFCmpUNO(x, x), x, result);
}

// log2(2^e * m) = e + log2(m), with m in [sqrt(1/2), sqrt(2)], and ln m = 2
// atanh((m - 1) / (m + 1)), whose argument t is then at most 0.172: eight terms
// in t^2.
llvm::Value* Log2(Builder& ir, llvm::Value* x) {
  llvm::Type* integer = ir.Like(x, ir.getInt64Ty());
  auto bits = [&](uint64_t value) {
    return llvm::ConstantInt::get(integer, value);
  };
  // The exponent, such that the rest lies between sqrt(1/2) and sqrt(2).
  constexpr uint64_t kHalfRoot = 0x3FE6A09E667F3BCD;
  llvm::Value* word = ir.CreateBitCast(x, integer);
  llvm::Value* above = ir.CreateSub(word, bits(kHalfRoot));
  llvm::Value* exponent = ir.CreateAShr(above, 52);
  llvm::Value* rest = ir.CreateBitCast(
      ir.CreateSub(word, ir.CreateShl(exponent, 52)), x->getType());
  llvm::Value* whole = ir.CreateSIToFP(
      ir.CreateTrunc(exponent, ir.Like(x, ir.getInt32Ty())), x->getType());
  llvm::Value* one = ir.DoubleLike(x, 1);
  llvm::Value* t =
      ir.CreateFDiv(ir.CreateFSub(rest, one), ir.CreateFAdd(rest, one));
  static constexpr std::array<double, 8> kAtanh = {
      2 / kLn2,     2 / kLn2 / 3,  2 / kLn2 / 5,  2 / kLn2 / 7,
      2 / kLn2 / 9, 2 / kLn2 / 11, 2 / kLn2 / 13, 2 / kLn2 / 15};
  llvm::Value* result = ir.CreateFAdd(
      whole, ir.CreateFMul(t, Polynomial(ir, ir.CreateFMul(t, t), kAtanh)));
  llvm::Value* zero = ir.DoubleLike(x, 0);
  llvm::Value* infinity = llvm::ConstantFP::getInfinity(x->getType());
  result = ir.CreateSelect(ir.CreateFCmpOEQ(x, infinity), x, result);
  result = ir.CreateSelect(ir.CreateFCmpOEQ(x, zero), ir.CreateFNeg(infinity),
                           result);
  return ir.CreateSelect(ir.CreateFCmpULT(x, zero),
                         llvm::ConstantFP::getNaN(x->getType()), result);
}

// Large arguments lose accuracy, as they do on a GPU.
llvm::Value* Sine(Builder& ir, llvm::Value* x, bool cosine) {
  namespace Intrinsic = llvm::Intrinsic;
  llvm::Type* type = x->getType();
  llvm::Value* r = x;
  // The remainder of a huge number can still be large after one round.
  for (int round = 0; round < 3; ++round) {
    llvm::Value* turns = ir.CreateFNeg(ir.CreateUnaryIntrinsic(
        Intrinsic::roundeven, ir.CreateFMul(r, ir.DoubleLike(x, 1 / kTwoPi))));
    r = ir.CreateIntrinsic(Intrinsic::fma, {type},
                           {turns, ir.DoubleLike(x, kTwoPi), r});
    r = ir.CreateIntrinsic(Intrinsic::fma, {type},
                           {turns, ir.DoubleLike(x, kTwoPiLow), r});
  }
  // In [-pi, pi]: to [-pi/2, pi/2] by symmetry, then the series.
  constexpr double kPi = kTwoPi / 2;
  llvm::Value* magnitude = ir.CreateUnaryIntrinsic(Intrinsic::fabs, r);
  llvm::Value* angle = nullptr;  // whose sine is wanted
  if (cosine) {
    angle = ir.CreateFSub(ir.DoubleLike(x, kPi / 2), magnitude);
  } else {
    llvm::Value* reflected = ir.CreateFSub(ir.DoubleLike(x, kPi), magnitude);
    angle = ir.CreateBinaryIntrinsic(
        Intrinsic::copysign,
        ir.CreateSelect(ir.CreateFCmpOGT(magnitude, ir.DoubleLike(x, kPi / 2)),
                        reflected, magnitude),
        r);
  }
  static constexpr std::array<double, 9> kSine = {1.0,
                                                  -1.0 / 6,
                                                  1.0 / 120,
                                                  -1.0 / 5040,
                                                  1.0 / 362880,
                                                  -1.0 / 39916800,
                                                  1.0 / 6227020800,
                                                  -1.0 / 1307674368000,
                                                  1.0 / 355687428096000};
  llvm::Value* square = ir.CreateFMul(angle, angle);
  llvm::Value* result = ir.CreateFMul(angle, Polynomial(ir, square, kSine));
  // Sine of infinity.
  llvm::Value* infinite =
      ir.CreateFCmpOEQ(ir.CreateUnaryIntrinsic(Intrinsic::fabs, x),
                       llvm::ConstantFP::getInfinity(type));
  return ir.CreateSelect(infinite, llvm::ConstantFP::getNaN(type), result);
}

}  // namespace

llvm::Value* Approximate(Builder& ir, const Instruction& instruction,
                         llvm::Value* x) {
  llvm::Type* narrow = x->getType();
  llvm::Type* wide = ir.Like(x, ir.getDoubleTy());
  llvm::Value* value = narrow == wide ? x : ir.CreateFPExt(x, wide);
  llvm::Value* result = nullptr;
  switch (instruction.opcode()) {
    case Opcode::kEx2:
      result = Exp2(ir, value);
      break;
    case Opcode::kLg2:
      result = Log2(ir, value);
      break;
    case Opcode::kSin:
      result = Sine(ir, value, false);
      break;
    case Opcode::kCos:
      result = Sine(ir, value, true);
      break;
    case Opcode::kTanh: {
      // 1 - 2 / (e^2x + 1); next to zero, x.
      llvm::Value* power =
          Exp2(ir, ir.CreateFMul(value, ir.DoubleLike(value, 2 / kLn2)));
      llvm::Value* one = ir.DoubleLike(value, 1);
      result = ir.CreateFSub(one, ir.CreateFDiv(ir.DoubleLike(value, 2),
                                                ir.CreateFAdd(power, one)));
      llvm::Value* small = ir.CreateFCmpOLT(
          ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value),
          ir.DoubleLike(value, 1e-4));
      result = ir.CreateSelect(small, value, result);
      break;
    }
    default:
      return nullptr;
  }
  return narrow == wide ? result : ir.CreateFPTrunc(result, narrow);
}

}  // namespace holdfast::software::jit
