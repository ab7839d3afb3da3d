// SPDX-License-Identifier: Apache-2.0
//
// LLVM's shifts are undefined for counts of the width and beyond, where PTX
// defines a result for every number. So counts are first clamped to what a
// shift may have, and the result beyond is chosen by a select.
#include "core/software/jit/arithmetic/bits.h"

#include "core/software/jit/arithmetic/integer.h"
#include "core/software/jit/arithmetic/scalar.h"
#include "core/software/jit/arithmetic/video.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

namespace {

// The position or length of a field in `a`: of 32 bits its low byte counts, of
// 64 bits, as on GPUs though not in PTX's manual, all of it.
llvm::Value* FieldLimit(Builder& ir, llvm::Value* a, llvm::Value* limit) {
  llvm::Type* type = a->getType();
  if (type->getScalarSizeInBits() == 64) return ir.CreateZExt(limit, type);
  return ir.CreateAnd(limit, llvm::ConstantInt::get(limit->getType(), 0xFF));
}

// The place of the highest bit that differs from the sign; all ones if none.
llvm::Value* FindHighestBit(Builder& ir, const Instruction& instruction,
                            llvm::Value* a) {
  const int bits = ptx::BitsOf(instruction.type());
  if (ptx::IsSigned(instruction.type())) {
    a = ir.CreateXor(a, ir.CreateAShr(a, bits - 1));
  }
  llvm::Value* zeros =
      ir.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, a, ir.getFalse());
  llvm::Value* place = instruction.modifiers.Has(Modifier::kShiftamt)
                           ? zeros
                           : ir.CreateSub(ir.ConstantLike(a, bits - 1), zeros);
  place = ir.CreateSelect(ir.CreateICmpEQ(a, ir.ConstantLike(a, 0)),
                          llvm::Constant::getAllOnesValue(a->getType()), place);
  return ir.CreateTrunc(place, ir.Like(a, ir.getInt32Ty()));
}

// `length` bits of a from `position`, both taken modulo 256; beyond the end
// the field is filled with its sign.
llvm::Value* ExtractField(Builder& ir, const Instruction& instruction,
                          llvm::Value* a, llvm::Value* position,
                          llvm::Value* length) {
  const int bits = ptx::BitsOf(instruction.type());
  const bool is_signed = ptx::IsSigned(instruction.type());
  namespace Intrinsic = llvm::Intrinsic;
  position = FieldLimit(ir, a, position);
  length = FieldLimit(ir, a, length);
  llvm::Value* zero = ir.ConstantLike(a, 0);
  llvm::Value* last = ir.ConstantLike(a, bits - 1);
  llvm::Value* start =
      ir.CreateBinaryIntrinsic(Intrinsic::umin, position, last);
  llvm::Value* outside = ir.CreateICmpUGT(position, last);
  // Left until the top bit of the field is the top bit, then back.
  llvm::Value* end = ir.CreateAdd(position, length);
  llvm::Value* beyond = ir.CreateICmpUGE(end, ir.ConstantLike(a, bits));
  llvm::Value* left = ir.CreateSelect(
      beyond, zero, ir.CreateSub(ir.ConstantLike(a, bits), end));
  left = ir.CreateBinaryIntrinsic(Intrinsic::umin, left, last);
  llvm::Value* shifted = ir.CreateShl(a, left);
  llvm::Value* right = ir.CreateAdd(left, start);
  llvm::Value* fill = zero;
  llvm::Value* result = nullptr;
  if (is_signed) {
    fill = ir.CreateAShr(a, last);
    result = ir.CreateAShr(
        shifted, ir.CreateBinaryIntrinsic(Intrinsic::umin, right, last));
  } else {
    result = ir.CreateLShr(
        shifted, ir.CreateBinaryIntrinsic(Intrinsic::umin, right, last));
  }
  result = ir.CreateSelect(outside, fill, result);
  return ir.CreateSelect(ir.CreateICmpEQ(length, zero), zero, result);
}

// The low `length` bits of a over those of b at `position`.
// mask has ones where the field goes.
llvm::Value* InsertField(Builder& ir, llvm::Value* a, llvm::Value* b,
                         llvm::Value* position, llvm::Value* length) {
  const unsigned bits = a->getType()->getScalarSizeInBits();
  namespace Intrinsic = llvm::Intrinsic;
  position = FieldLimit(ir, a, position);
  length = FieldLimit(ir, a, length);
  llvm::Value* last = ir.ConstantLike(a, bits - 1);
  llvm::Value* ones = llvm::Constant::getAllOnesValue(a->getType());
  llvm::Value* short_length =
      ir.CreateBinaryIntrinsic(Intrinsic::umin, length, last);
  llvm::Value* mask = ir.CreateNot(ir.CreateShl(ones, short_length));
  mask = ir.CreateSelect(ir.CreateICmpUGT(length, last), ones, mask);
  llvm::Value* shift =
      ir.CreateBinaryIntrinsic(Intrinsic::umin, position, last);
  mask = ir.CreateShl(mask, shift);
  llvm::Value* result = ir.CreateOr(ir.CreateAnd(ir.CreateShl(a, shift), mask),
                                    ir.CreateAnd(b, ir.CreateNot(mask)));
  return ir.CreateSelect(ir.CreateICmpUGT(position, last), b, result);
}

// The middle of b:a.
llvm::Value* FunnelShift(Builder& ir, const Instruction& instruction,
                         llvm::Value* a, llvm::Value* b, llvm::Value* count) {
  llvm::Type* wide = ir.Like(a, ir.getInt64Ty());
  llvm::Value* pair = ir.CreateOr(ir.CreateZExt(a, wide),
                                  ir.CreateShl(ir.CreateZExt(b, wide), 32));
  count = instruction.modifiers.Has(Modifier::kWrap)
              ? ir.CreateAnd(count, ir.ConstantLike(count, 31))
              : ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count,
                                         ir.ConstantLike(count, 32));
  count = ir.CreateZExt(count, wide);
  if (instruction.modifiers.Has(Modifier::kL)) {
    return ir.CreateTrunc(ir.CreateLShr(ir.CreateShl(pair, count), 32),
                          a->getType());
  }
  return ir.CreateTrunc(ir.CreateLShr(pair, count), a->getType());
}

// Four bytes out of eight, b:a; bit 3 of a selector asks for the byte's sign.
// Without a word each nibble of the selector names a byte; the words name all
// four by one number: f4e and b4e count up and down from it, rc8 repeats it,
// ecl and ecr stop at an end, rc16 repeats a half.
llvm::Value* PermuteBytes(Builder& ir, const Instruction& instruction,
                          llvm::Value* a, llvm::Value* b,
                          llvm::Value* selectors) {
  llvm::Type* wide = ir.Like(a, ir.getInt64Ty());
  llvm::Value* bytes = ir.CreateOr(ir.CreateZExt(a, wide),
                                   ir.CreateShl(ir.CreateZExt(b, wide), 32));
  const auto& words = instruction.modifiers;
  auto constant = [&](uint64_t bits) {
    return llvm::ConstantInt::get(a->getType(), bits);
  };
  llvm::Value* low = ir.CreateAnd(selectors, constant(3));
  llvm::Value* result = constant(0);
  for (uint64_t i = 0; i < 4; ++i) {
    llvm::Value* which = nullptr;
    llvm::Value* sign = nullptr;
    if (words.Has(Modifier::kF4e)) {
      which = ir.CreateAdd(low, constant(i));
    } else if (words.Has(Modifier::kB4e)) {
      which = ir.CreateAnd(ir.CreateSub(low, constant(i)), constant(7));
    } else if (words.Has(Modifier::kRc8)) {
      which = low;
    } else if (words.Has(Modifier::kEcl)) {
      which = ir.CreateBinaryIntrinsic(llvm::Intrinsic::umax, low, constant(i));
    } else if (words.Has(Modifier::kEcr)) {
      which = ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, low, constant(i));
    } else if (words.Has(Modifier::kRc16)) {
      which = ir.CreateAdd(
          ir.CreateShl(ir.CreateAnd(selectors, constant(1)), constant(1)),
          constant(i % 2));
    } else {
      llvm::Value* nibble = ir.CreateLShr(selectors, constant(4 * i));
      which = ir.CreateAnd(nibble, constant(7));
      sign = ir.CreateICmpNE(ir.CreateAnd(nibble, constant(8)), constant(0));
    }
    llvm::Value* shift = ir.CreateZExt(ir.CreateShl(which, constant(3)), wide);
    llvm::Value* byte =
        ir.CreateAnd(ir.CreateTrunc(ir.CreateLShr(bytes, shift), a->getType()),
                     constant(0xFF));
    if (sign != nullptr) {
      llvm::Value* filled = ir.CreateSelect(
          ir.CreateICmpUGE(byte, constant(0x80)), constant(0xFF), constant(0));
      byte = ir.CreateSelect(sign, filled, byte);
    }
    result = ir.CreateOr(result, ir.CreateShl(byte, constant(8 * i)));
  }
  return result;
}

// The low, or the high, 32 bits of the 48-bit product of two low halves.
llvm::Value* Multiply24(Builder& ir, const Instruction& instruction,
                        llvm::Value* a, llvm::Value* b) {
  llvm::Type* wide = ir.Like(a, ir.getInt64Ty());
  const bool is_signed = ptx::IsSigned(instruction.type());
  auto low = [&](llvm::Value* value) {
    value = ir.CreateShl(value, ir.ConstantLike(value, 8));
    return is_signed
               ? ir.CreateSExt(ir.CreateAShr(value, ir.ConstantLike(value, 8)),
                               wide)
               : ir.CreateZExt(ir.CreateLShr(value, ir.ConstantLike(value, 8)),
                               wide);
  };
  llvm::Value* product = ir.CreateMul(low(a), low(b));
  if (instruction.modifiers.Has(Modifier::kHi)) {
    product = ir.CreateLShr(product, 16);
  }
  return ir.CreateTrunc(product, a->getType());
}

// c + the sum of the products of the four bytes of a with those of b, or of
// its two halves with two bytes of b.
llvm::Value* DotProduct(Builder& ir, const Instruction& instruction,
                        llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  const bool bytes = instruction.opcode() == Opcode::kDp4a;
  auto part = [&](llvm::Value* value, Type type, int bits, int at) {
    llvm::Value* top =
        ir.CreateShl(value, ir.ConstantLike(value, 32 - bits - at));
    llvm::Value* shift = ir.ConstantLike(value, 32 - bits);
    return ptx::IsSigned(type) ? ir.CreateAShr(top, shift)
                               : ir.CreateLShr(top, shift);
  };
  const Type* types = instruction.modifiers.types;
  const int width = bytes ? 8 : 16;
  const int base = instruction.modifiers.Has(Modifier::kHi) ? 16 : 0;
  for (int i = 0; i < 32 / width; ++i) {
    c = ir.CreateAdd(c, ir.CreateMul(part(a, types[0], width, i * width),
                                     part(b, types[1], 8, base + i * 8)));
  }
  return c;
}

// `length` ones from `position`.
llvm::Value* MaskOfBits(Builder& ir, const Instruction& instruction,
                        llvm::Value* position, llvm::Value* length) {
  llvm::Value* ones = llvm::Constant::getAllOnesValue(position->getType());
  llvm::Value* zero = ir.ConstantLike(position, 0);
  if (instruction.modifiers.Has(Modifier::kWrap)) {
    position = ir.CreateAnd(position, ir.ConstantLike(position, 31));
    length = ir.CreateAnd(length, ir.ConstantLike(length, 31));
  }
  auto shifted = [&](llvm::Value* value, llvm::Value* count) {
    llvm::Value* last = ir.ConstantLike(count, 31);
    llvm::Value* small =
        ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count, last);
    return ir.CreateSelect(ir.CreateICmpUGT(count, last), zero,
                           ir.CreateShl(value, small));
  };
  llvm::Value* low = ir.CreateNot(shifted(ones, length));
  return shifted(low, position);
}

// The low `count` bits of a, extended by their sign or by zeros.
llvm::Value* ExtendFrom(Builder& ir, const Instruction& instruction,
                        llvm::Value* a, llvm::Value* count) {
  llvm::Value* zero = ir.ConstantLike(a, 0);
  if (instruction.modifiers.Has(Modifier::kWrap)) {
    count = ir.CreateAnd(count, ir.ConstantLike(count, 31));
  }
  llvm::Value* all = ir.CreateICmpUGE(count, ir.ConstantLike(a, 32));
  llvm::Value* none = ir.CreateICmpEQ(count, zero);
  llvm::Value* shift =
      ir.CreateSelect(ir.CreateOr(all, none), zero,
                      ir.CreateSub(ir.ConstantLike(a, 32), count));
  llvm::Value* top = ir.CreateShl(a, shift);
  llvm::Value* result = ptx::IsSigned(instruction.type())
                            ? ir.CreateAShr(top, shift)
                            : ir.CreateLShr(top, shift);
  return ir.CreateSelect(none, zero, result);
}

}  // namespace

// The table has the result for each of the eight combinations of a bit of a, b
// and c, at the number that they form. It is the sum of the combinations whose
// result is 1; LLVM finds the shorter form.
llvm::Value* LookUpLogic(Builder& ir, llvm::Value* a, llvm::Value* b,
                         llvm::Value* c, uint8_t table) {
  llvm::Value* result = ir.ConstantLike(a, 0);
  for (int i = 0; i < 8; ++i) {
    if ((table >> i & 1) == 0) continue;
    llvm::Value* x = (i & 4) != 0 ? a : ir.CreateNot(a);
    llvm::Value* y = (i & 2) != 0 ? b : ir.CreateNot(b);
    llvm::Value* z = (i & 1) != 0 ? c : ir.CreateNot(c);
    result = ir.CreateOr(result, ir.CreateAnd(ir.CreateAnd(x, y), z));
  }
  return result;
}

llvm::Value* ComputeBits(Builder& ir, const Instruction& instruction,
                         Values in) {
  namespace Intrinsic = llvm::Intrinsic;
  llvm::Type* word = ir.Like(in[0], ir.getInt32Ty());
  auto narrow = [&](llvm::Value* value) {
    return ir.CreateZExtOrTrunc(value, word);
  };
  switch (instruction.opcode()) {
    case Opcode::kPopc:
      return narrow(ir.CreateUnaryIntrinsic(Intrinsic::ctpop, in[0]));
    case Opcode::kClz:
      return narrow(
          ir.CreateBinaryIntrinsic(Intrinsic::ctlz, in[0], ir.getFalse()));
    case Opcode::kBrev:
      return ir.CreateUnaryIntrinsic(Intrinsic::bitreverse, in[0]);
    case Opcode::kBfind:
      return FindHighestBit(ir, instruction, in[0]);
    case Opcode::kBfe:
      return ExtractField(ir, instruction, in[0], in[1], in[2]);
    case Opcode::kBfi:
      return InsertField(ir, in[0], in[1], in[2], in[3]);
    case Opcode::kLop3:
      return LookUpLogic(ir, in[0], in[1], in[2],
                         static_cast<uint8_t>(instruction.operands[4].bits));
    case Opcode::kShf:
      return FunnelShift(ir, instruction, in[0], in[1], in[2]);
    case Opcode::kPrmt:
      return PermuteBytes(ir, instruction, in[0], in[1], in[2]);
    case Opcode::kSad: {
      const bool is_signed = ptx::IsSigned(instruction.type());
      llvm::Value* less = is_signed ? ir.CreateICmpSLT(in[0], in[1])
                                    : ir.CreateICmpULT(in[0], in[1]);
      return ir.CreateAdd(in[2],
                          ir.CreateSelect(less, ir.CreateSub(in[1], in[0]),
                                          ir.CreateSub(in[0], in[1])));
    }
    case Opcode::kCnot:
      return ir.CreateZExt(ir.CreateICmpEQ(in[0], ir.ConstantLike(in[0], 0)),
                           in[0]->getType());
    case Opcode::kMul24:
      return Multiply24(ir, instruction, in[0], in[1]);
    case Opcode::kMad24:
      return SumWith(ir, instruction.modifiers.Has(Modifier::kSat),
                     Multiply24(ir, instruction, in[0], in[1]), in[2]);
    case Opcode::kFns:
      return CallScalar(ir, "find_nth", in, 0, ir.getInt32Ty());
    case Opcode::kDp4a:
    case Opcode::kDp2a:
      return DotProduct(ir, instruction, in[0], in[1], in[2]);
    case Opcode::kBmsk:
      return MaskOfBits(ir, instruction, in[0], in[1]);
    case Opcode::kSzext:
      return ExtendFrom(ir, instruction, in[0], in[1]);
    default:
      return ComputeVideoInstruction(ir, instruction, in);
  }
}

}  // namespace holdfast::software::jit
