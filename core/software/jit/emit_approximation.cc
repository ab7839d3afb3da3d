// SPDX-License-Identifier: Apache-2.0
//
// Functions that the PTX manual gives with an error bound: computed in double
// precision and rounded once, which is far within every bound.
#include <array>

#include "core/software/jit/kernel_emitter.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;

namespace {

constexpr double kLn2 = 0.6931471805599453;
constexpr double kTwoPi = 6.283185307179586;
constexpr double kTwoPiLow = 2.4492935982947064e-16;

}  // namespace

llvm::Value* KernelEmitter::DoubleLike(llvm::Value* value, double constant) {
  return llvm::ConstantFP::get(Like(value, b_.getDoubleTy()), constant);
}

// c[0] + x * (c[1] + x * ...)
llvm::Value* KernelEmitter::Polynomial(llvm::Value* x,
                                       absl::Span<const double> c) {
  llvm::Value* sum = DoubleLike(x, c.back());
  for (size_t i = c.size() - 1; i-- > 0;) {
    sum = b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()},
                             {sum, x, DoubleLike(x, c[i])});
  }
  return sum;
}

llvm::Value* KernelEmitter::Approximate(const Instruction& instruction,
                                        llvm::Value* x) {
  llvm::Type* narrow = x->getType();
  llvm::Type* wide = Like(x, b_.getDoubleTy());
  llvm::Value* value = narrow == wide ? x : b_.CreateFPExt(x, wide);
  llvm::Value* result = nullptr;
  switch (instruction.opcode()) {
    case Opcode::kEx2:
      result = Exp2(value);
      break;
    case Opcode::kLg2:
      result = Log2(value);
      break;
    case Opcode::kSin:
      result = Sine(value, false);
      break;
    case Opcode::kCos:
      result = Sine(value, true);
      break;
    case Opcode::kTanh: {
      // 1 - 2 / (e^2x + 1); next to zero, x.
      llvm::Value* power =
          Exp2(b_.CreateFMul(value, DoubleLike(value, 2 / kLn2)));
      llvm::Value* one = DoubleLike(value, 1);
      result = b_.CreateFSub(
          one, b_.CreateFDiv(DoubleLike(value, 2), b_.CreateFAdd(power, one)));
      llvm::Value* small = b_.CreateFCmpOLT(
          b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value),
          DoubleLike(value, 1e-4));
      result = b_.CreateSelect(small, value, result);
      break;
    }
    default:
      return nullptr;
  }
  return narrow == wide ? result : b_.CreateFPTrunc(result, narrow);
}

// Beyond the range of float the result need not be exact, only large or small.
llvm::Value* KernelEmitter::Exp2(llvm::Value* x) {
  namespace Intrinsic = llvm::Intrinsic;
  llvm::Type* integer = Like(x, b_.getInt64Ty());
  llvm::Value* inside = b_.CreateBinaryIntrinsic(
      Intrinsic::maxnum,
      b_.CreateBinaryIntrinsic(Intrinsic::minnum, x, DoubleLike(x, 400)),
      DoubleLike(x, -400));
  llvm::Value* whole = b_.CreateUnaryIntrinsic(Intrinsic::roundeven, inside);
  llvm::Value* rest =
      b_.CreateFMul(b_.CreateFSub(inside, whole), DoubleLike(x, kLn2));
  static constexpr std::array<double, 10> kExp = {
      1.0,       1.0,       1.0 / 2,    1.0 / 6,     1.0 / 24,
      1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880};
  llvm::Value* power = Polynomial(rest, kExp);
  // whole + 1023 as the exponent of a double: 2^52 + n has n in its low bits.
  llvm::Value* biased = b_.CreateFAdd(whole, DoubleLike(x, 0x1p52 + 1023));
  llvm::Value* scale = b_.CreateBitCast(
      b_.CreateShl(b_.CreateBitCast(biased, integer), 52), x->getType());
  llvm::Value* result = b_.CreateFMul(power, scale);
  return b_.CreateSelect(b_.CreateFCmpUNO(x, x), x, result);
}

llvm::Value* KernelEmitter::Log2(llvm::Value* x) {
  llvm::Type* integer = Like(x, b_.getInt64Ty());
  auto bits = [&](uint64_t value) {
    return llvm::ConstantInt::get(integer, value);
  };
  // The exponent, such that the rest lies between sqrt(1/2) and sqrt(2).
  constexpr uint64_t kHalfRoot = 0x3FE6A09E667F3BCD;
  llvm::Value* word = b_.CreateBitCast(x, integer);
  llvm::Value* above = b_.CreateSub(word, bits(kHalfRoot));
  llvm::Value* exponent = b_.CreateAShr(above, 52);
  llvm::Value* rest = b_.CreateBitCast(
      b_.CreateSub(word, b_.CreateShl(exponent, 52)), x->getType());
  llvm::Value* whole = b_.CreateSIToFP(
      b_.CreateTrunc(exponent, Like(x, b_.getInt32Ty())), x->getType());
  llvm::Value* one = DoubleLike(x, 1);
  llvm::Value* t =
      b_.CreateFDiv(b_.CreateFSub(rest, one), b_.CreateFAdd(rest, one));
  static constexpr std::array<double, 8> kAtanh = {
      2 / kLn2,     2 / kLn2 / 3,  2 / kLn2 / 5,  2 / kLn2 / 7,
      2 / kLn2 / 9, 2 / kLn2 / 11, 2 / kLn2 / 13, 2 / kLn2 / 15};
  llvm::Value* result = b_.CreateFAdd(
      whole, b_.CreateFMul(t, Polynomial(b_.CreateFMul(t, t), kAtanh)));
  llvm::Value* zero = DoubleLike(x, 0);
  llvm::Value* infinity = llvm::ConstantFP::getInfinity(x->getType());
  result = b_.CreateSelect(b_.CreateFCmpOEQ(x, infinity), x, result);
  result = b_.CreateSelect(b_.CreateFCmpOEQ(x, zero), b_.CreateFNeg(infinity),
                           result);
  return b_.CreateSelect(b_.CreateFCmpULT(x, zero),
                         llvm::ConstantFP::getNaN(x->getType()), result);
}

// Large arguments lose accuracy, as they do on a GPU.
llvm::Value* KernelEmitter::Sine(llvm::Value* x, bool cosine) {
  namespace Intrinsic = llvm::Intrinsic;
  llvm::Type* type = x->getType();
  llvm::Value* r = x;
  // What is left of a huge number after one round can still be large.
  for (int round = 0; round < 3; ++round) {
    llvm::Value* turns = b_.CreateFNeg(b_.CreateUnaryIntrinsic(
        Intrinsic::roundeven, b_.CreateFMul(r, DoubleLike(x, 1 / kTwoPi))));
    r = b_.CreateIntrinsic(Intrinsic::fma, {type},
                           {turns, DoubleLike(x, kTwoPi), r});
    r = b_.CreateIntrinsic(Intrinsic::fma, {type},
                           {turns, DoubleLike(x, kTwoPiLow), r});
  }
  // In [-pi, pi]: to [-pi/2, pi/2] by symmetry, then the series.
  constexpr double kPi = kTwoPi / 2;
  llvm::Value* magnitude = b_.CreateUnaryIntrinsic(Intrinsic::fabs, r);
  llvm::Value* angle = nullptr;  // whose sine is wanted
  if (cosine) {
    angle = b_.CreateFSub(DoubleLike(x, kPi / 2), magnitude);
  } else {
    llvm::Value* reflected = b_.CreateFSub(DoubleLike(x, kPi), magnitude);
    angle = b_.CreateBinaryIntrinsic(
        Intrinsic::copysign,
        b_.CreateSelect(b_.CreateFCmpOGT(magnitude, DoubleLike(x, kPi / 2)),
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
  llvm::Value* square = b_.CreateFMul(angle, angle);
  llvm::Value* result = b_.CreateFMul(angle, Polynomial(square, kSine));
  // Sine of infinity.
  llvm::Value* infinite =
      b_.CreateFCmpOEQ(b_.CreateUnaryIntrinsic(Intrinsic::fabs, x),
                       llvm::ConstantFP::getInfinity(type));
  return b_.CreateSelect(infinite, llvm::ConstantFP::getNaN(type), result);
}

}  // namespace holdfast::software::jit
