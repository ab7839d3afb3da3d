// SPDX-License-Identifier: Apache-2.0
//
// Integer operations on bits, bytes and narrow products.
#include "core/software/jit/kernel_emitter.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

namespace {

using Values = absl::Span<llvm::Value* const>;

// The position or length of a field in `a`: of 32 bits its low byte counts, of
// 64 bits, as on GPUs though not in PTX's manual, all of it.
llvm::Value* FieldLimit(llvm::IRBuilder<>& builder, llvm::Value* a,
                        llvm::Value* limit) {
  llvm::Type* type = a->getType();
  if (type->getScalarSizeInBits() == 64) return builder.CreateZExt(limit, type);
  return builder.CreateAnd(limit,
                           llvm::ConstantInt::get(limit->getType(), 0xFF));
}

}  // namespace

llvm::Value* KernelEmitter::ConstantLike(llvm::Value* value, uint64_t bits) {
  return llvm::ConstantInt::get(value->getType(), bits);
}

llvm::Value* KernelEmitter::ComputeBits(const Instruction& instruction,
                                        Values in) {
  namespace Intrinsic = llvm::Intrinsic;
  llvm::Type* word = Like(in[0], b_.getInt32Ty());
  auto narrow = [&](llvm::Value* value) {
    return b_.CreateZExtOrTrunc(value, word);
  };
  switch (instruction.opcode()) {
    case Opcode::kPopc:
      return narrow(b_.CreateUnaryIntrinsic(Intrinsic::ctpop, in[0]));
    case Opcode::kClz:
      return narrow(
          b_.CreateBinaryIntrinsic(Intrinsic::ctlz, in[0], b_.getFalse()));
    case Opcode::kBrev:
      return b_.CreateUnaryIntrinsic(Intrinsic::bitreverse, in[0]);
    case Opcode::kBfind:
      return FindHighestBit(instruction, in[0]);
    case Opcode::kBfe:
      return ExtractField(instruction, in[0], in[1], in[2]);
    case Opcode::kBfi:
      return InsertField(in[0], in[1], in[2], in[3]);
    case Opcode::kLop3:
      return LookUpLogic(in[0], in[1], in[2],
                         static_cast<uint8_t>(instruction.operands[4].bits));
    case Opcode::kShf:
      return FunnelShift(instruction, in[0], in[1], in[2]);
    case Opcode::kPrmt:
      return PermuteBytes(instruction, in[0], in[1], in[2]);
    case Opcode::kSad: {
      const bool is_signed = ptx::IsSigned(instruction.type());
      llvm::Value* less = is_signed ? b_.CreateICmpSLT(in[0], in[1])
                                    : b_.CreateICmpULT(in[0], in[1]);
      return b_.CreateAdd(in[2],
                          b_.CreateSelect(less, b_.CreateSub(in[1], in[0]),
                                          b_.CreateSub(in[0], in[1])));
    }
    case Opcode::kCnot:
      return b_.CreateZExt(b_.CreateICmpEQ(in[0], ConstantLike(in[0], 0)),
                           in[0]->getType());
    case Opcode::kMul24:
      return Multiply24(instruction, in[0], in[1]);
    case Opcode::kMad24:
      return SumWith(instruction.modifiers.Has(Modifier::kSat),
                     Multiply24(instruction, in[0], in[1]), in[2]);
    case Opcode::kFns:
      return CallScalar("find_nth", in, 0, b_.getInt32Ty());
    case Opcode::kDp4a:
    case Opcode::kDp2a:
      return DotProduct(instruction, in[0], in[1], in[2]);
    case Opcode::kBmsk:
      return MaskOfBits(instruction, in[0], in[1]);
    case Opcode::kSzext:
      return ExtendFrom(instruction, in[0], in[1]);
    default:
      return ComputeVideoParts(instruction, in);
  }
}

// The place of the highest bit that differs from the sign; all ones if none.
llvm::Value* KernelEmitter::FindHighestBit(const Instruction& instruction,
                                           llvm::Value* a) {
  const int bits = ptx::BitsOf(instruction.type());
  if (ptx::IsSigned(instruction.type())) {
    a = b_.CreateXor(a, b_.CreateAShr(a, bits - 1));
  }
  llvm::Value* zeros =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, a, b_.getFalse());
  llvm::Value* place = instruction.modifiers.Has(Modifier::kShiftamt)
                           ? zeros
                           : b_.CreateSub(ConstantLike(a, bits - 1), zeros);
  place = b_.CreateSelect(b_.CreateICmpEQ(a, ConstantLike(a, 0)),
                          llvm::Constant::getAllOnesValue(a->getType()), place);
  return b_.CreateTrunc(place, Like(a, b_.getInt32Ty()));
}

// `length` bits of a from `position`, both taken modulo 256; beyond the end
// the field is filled with its sign.
llvm::Value* KernelEmitter::ExtractField(const Instruction& instruction,
                                         llvm::Value* a, llvm::Value* position,
                                         llvm::Value* length) {
  const int bits = ptx::BitsOf(instruction.type());
  const bool is_signed = ptx::IsSigned(instruction.type());
  namespace Intrinsic = llvm::Intrinsic;
  position = FieldLimit(b_, a, position);
  length = FieldLimit(b_, a, length);
  llvm::Value* zero = ConstantLike(a, 0);
  llvm::Value* last = ConstantLike(a, bits - 1);
  llvm::Value* start =
      b_.CreateBinaryIntrinsic(Intrinsic::umin, position, last);
  llvm::Value* outside = b_.CreateICmpUGT(position, last);
  // Left until the top bit of the field is the top bit, then back.
  llvm::Value* end = b_.CreateAdd(position, length);
  llvm::Value* beyond = b_.CreateICmpUGE(end, ConstantLike(a, bits));
  llvm::Value* left =
      b_.CreateSelect(beyond, zero, b_.CreateSub(ConstantLike(a, bits), end));
  left = b_.CreateBinaryIntrinsic(Intrinsic::umin, left, last);
  llvm::Value* shifted = b_.CreateShl(a, left);
  llvm::Value* right = b_.CreateAdd(left, start);
  llvm::Value* fill = zero;
  llvm::Value* result = nullptr;
  if (is_signed) {
    fill = b_.CreateAShr(a, last);
    result = b_.CreateAShr(
        shifted, b_.CreateBinaryIntrinsic(Intrinsic::umin, right, last));
  } else {
    result = b_.CreateLShr(
        shifted, b_.CreateBinaryIntrinsic(Intrinsic::umin, right, last));
  }
  result = b_.CreateSelect(outside, fill, result);
  return b_.CreateSelect(b_.CreateICmpEQ(length, zero), zero, result);
}

// The low `length` bits of a over those of b at `position`.
llvm::Value* KernelEmitter::InsertField(llvm::Value* a, llvm::Value* b,
                                        llvm::Value* position,
                                        llvm::Value* length) {
  const unsigned bits = a->getType()->getScalarSizeInBits();
  namespace Intrinsic = llvm::Intrinsic;
  position = FieldLimit(b_, a, position);
  length = FieldLimit(b_, a, length);
  llvm::Value* last = ConstantLike(a, bits - 1);
  llvm::Value* ones = llvm::Constant::getAllOnesValue(a->getType());
  llvm::Value* short_length =
      b_.CreateBinaryIntrinsic(Intrinsic::umin, length, last);
  llvm::Value* mask = b_.CreateNot(b_.CreateShl(ones, short_length));
  mask = b_.CreateSelect(b_.CreateICmpUGT(length, last), ones, mask);
  llvm::Value* shift =
      b_.CreateBinaryIntrinsic(Intrinsic::umin, position, last);
  mask = b_.CreateShl(mask, shift);
  llvm::Value* result = b_.CreateOr(b_.CreateAnd(b_.CreateShl(a, shift), mask),
                                    b_.CreateAnd(b, b_.CreateNot(mask)));
  return b_.CreateSelect(b_.CreateICmpUGT(position, last), b, result);
}

// Bit i of the table is the result for the i-th combination, a being the high
// bit of i. The sum of its products; LLVM finds the short form.
llvm::Value* KernelEmitter::LookUpLogic(llvm::Value* a, llvm::Value* b,
                                        llvm::Value* c, uint8_t table) {
  llvm::Value* result = ConstantLike(a, 0);
  for (int i = 0; i < 8; ++i) {
    if ((table >> i & 1) == 0) continue;
    llvm::Value* x = (i & 4) != 0 ? a : b_.CreateNot(a);
    llvm::Value* y = (i & 2) != 0 ? b : b_.CreateNot(b);
    llvm::Value* z = (i & 1) != 0 ? c : b_.CreateNot(c);
    result = b_.CreateOr(result, b_.CreateAnd(b_.CreateAnd(x, y), z));
  }
  return result;
}

// lop3.or.b32 d|p, a, b, c, table, q: p is whether d or q is not zero; of .and
// whether both are.
void KernelEmitter::EmitLogicPair(const Instruction& instruction) {
  const auto& operands = instruction.operands;
  Value in[3];
  for (int i = 0; i < 3; ++i) {
    in[i] = Read(operands[i + 2], instruction.type());
  }
  const Value with = Read(operands[6], Type::kPred);
  Value bits{lower::Shape::Varying(), instruction.type(), {}};
  Value any{lower::Shape::Varying(), Type::kPred, {}};
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* result =
        LookUpLogic(Vector(in[0], c), Vector(in[1], c), Vector(in[2], c),
                    static_cast<uint8_t>(operands[5].bits));
    llvm::Value* holds = b_.CreateICmpNE(result, ConstantLike(result, 0));
    bits.parts.push_back(result);
    any.parts.push_back(Combine(instruction, holds, Vector(with, c)));
  }
  Write(operands[0], bits);
  Write(operands[1], any);
}

// The middle of b:a.
llvm::Value* KernelEmitter::FunnelShift(const Instruction& instruction,
                                        llvm::Value* a, llvm::Value* b,
                                        llvm::Value* count) {
  llvm::Type* wide = Like(a, b_.getInt64Ty());
  llvm::Value* pair = b_.CreateOr(b_.CreateZExt(a, wide),
                                  b_.CreateShl(b_.CreateZExt(b, wide), 32));
  count = instruction.modifiers.Has(Modifier::kWrap)
              ? b_.CreateAnd(count, ConstantLike(count, 31))
              : b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count,
                                         ConstantLike(count, 32));
  count = b_.CreateZExt(count, wide);
  if (instruction.modifiers.Has(Modifier::kL)) {
    return b_.CreateTrunc(b_.CreateLShr(b_.CreateShl(pair, count), 32),
                          a->getType());
  }
  return b_.CreateTrunc(b_.CreateLShr(pair, count), a->getType());
}

// Four bytes out of eight, b:a; bit 3 of a selector asks for the byte's sign.
llvm::Value* KernelEmitter::PermuteBytes(const Instruction& instruction,
                                         llvm::Value* a, llvm::Value* b,
                                         llvm::Value* selectors) {
  llvm::Type* wide = Like(a, b_.getInt64Ty());
  llvm::Value* bytes = b_.CreateOr(b_.CreateZExt(a, wide),
                                   b_.CreateShl(b_.CreateZExt(b, wide), 32));
  const auto& words = instruction.modifiers;
  auto constant = [&](uint64_t bits) {
    return llvm::ConstantInt::get(a->getType(), bits);
  };
  llvm::Value* low = b_.CreateAnd(selectors, constant(3));
  llvm::Value* result = constant(0);
  for (uint64_t i = 0; i < 4; ++i) {
    llvm::Value* which = nullptr;
    llvm::Value* sign = nullptr;
    if (words.Has(Modifier::kF4e)) {
      which = b_.CreateAdd(low, constant(i));
    } else if (words.Has(Modifier::kB4e)) {
      which = b_.CreateAnd(b_.CreateSub(low, constant(i)), constant(7));
    } else if (words.Has(Modifier::kRc8)) {
      which = low;
    } else if (words.Has(Modifier::kEcl)) {
      which = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, low, constant(i));
    } else if (words.Has(Modifier::kEcr)) {
      which = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, low, constant(i));
    } else if (words.Has(Modifier::kRc16)) {
      which = b_.CreateAdd(
          b_.CreateShl(b_.CreateAnd(selectors, constant(1)), constant(1)),
          constant(i % 2));
    } else {
      llvm::Value* nibble = b_.CreateLShr(selectors, constant(4 * i));
      which = b_.CreateAnd(nibble, constant(7));
      sign = b_.CreateICmpNE(b_.CreateAnd(nibble, constant(8)), constant(0));
    }
    llvm::Value* shift = b_.CreateZExt(b_.CreateShl(which, constant(3)), wide);
    llvm::Value* byte =
        b_.CreateAnd(b_.CreateTrunc(b_.CreateLShr(bytes, shift), a->getType()),
                     constant(0xFF));
    if (sign != nullptr) {
      llvm::Value* filled = b_.CreateSelect(
          b_.CreateICmpUGE(byte, constant(0x80)), constant(0xFF), constant(0));
      byte = b_.CreateSelect(sign, filled, byte);
    }
    result = b_.CreateOr(result, b_.CreateShl(byte, constant(8 * i)));
  }
  return result;
}

// The low, or the high, 32 bits of the 48-bit product of two low halves.
llvm::Value* KernelEmitter::Multiply24(const Instruction& instruction,
                                       llvm::Value* a, llvm::Value* b) {
  llvm::Type* wide = Like(a, b_.getInt64Ty());
  const bool is_signed = ptx::IsSigned(instruction.type());
  auto low = [&](llvm::Value* value) {
    value = b_.CreateShl(value, ConstantLike(value, 8));
    return is_signed ? b_.CreateSExt(
                           b_.CreateAShr(value, ConstantLike(value, 8)), wide)
                     : b_.CreateZExt(
                           b_.CreateLShr(value, ConstantLike(value, 8)), wide);
  };
  llvm::Value* product = b_.CreateMul(low(a), low(b));
  if (instruction.modifiers.Has(Modifier::kHi)) {
    product = b_.CreateLShr(product, 16);
  }
  return b_.CreateTrunc(product, a->getType());
}

// c + the sum of the products of the four bytes of a with those of b, or of
// its two halves with two bytes of b.
llvm::Value* KernelEmitter::DotProduct(const Instruction& instruction,
                                       llvm::Value* a, llvm::Value* b,
                                       llvm::Value* c) {
  const bool bytes = instruction.opcode() == Opcode::kDp4a;
  auto part = [&](llvm::Value* value, Type type, int bits, int at) {
    llvm::Value* top = b_.CreateShl(value, ConstantLike(value, 32 - bits - at));
    llvm::Value* shift = ConstantLike(value, 32 - bits);
    return ptx::IsSigned(type) ? b_.CreateAShr(top, shift)
                               : b_.CreateLShr(top, shift);
  };
  const Type* types = instruction.modifiers.types;
  const int width = bytes ? 8 : 16;
  const int base = instruction.modifiers.Has(Modifier::kHi) ? 16 : 0;
  for (int i = 0; i < 32 / width; ++i) {
    c = b_.CreateAdd(c, b_.CreateMul(part(a, types[0], width, i * width),
                                     part(b, types[1], 8, base + i * 8)));
  }
  return c;
}

// `length` ones from `position`.
llvm::Value* KernelEmitter::MaskOfBits(const Instruction& instruction,
                                       llvm::Value* position,
                                       llvm::Value* length) {
  llvm::Value* ones = llvm::Constant::getAllOnesValue(position->getType());
  llvm::Value* zero = ConstantLike(position, 0);
  if (instruction.modifiers.Has(Modifier::kWrap)) {
    position = b_.CreateAnd(position, ConstantLike(position, 31));
    length = b_.CreateAnd(length, ConstantLike(length, 31));
  }
  auto shifted = [&](llvm::Value* value, llvm::Value* count) {
    llvm::Value* last = ConstantLike(count, 31);
    llvm::Value* small =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count, last);
    return b_.CreateSelect(b_.CreateICmpUGT(count, last), zero,
                           b_.CreateShl(value, small));
  };
  llvm::Value* low = b_.CreateNot(shifted(ones, length));
  return shifted(low, position);
}

// The low `count` bits of a, extended by their sign or by zeros.
llvm::Value* KernelEmitter::ExtendFrom(const Instruction& instruction,
                                       llvm::Value* a, llvm::Value* count) {
  llvm::Value* zero = ConstantLike(a, 0);
  if (instruction.modifiers.Has(Modifier::kWrap)) {
    count = b_.CreateAnd(count, ConstantLike(count, 31));
  }
  llvm::Value* all = b_.CreateICmpUGE(count, ConstantLike(a, 32));
  llvm::Value* none = b_.CreateICmpEQ(count, zero);
  llvm::Value* shift = b_.CreateSelect(
      b_.CreateOr(all, none), zero, b_.CreateSub(ConstantLike(a, 32), count));
  llvm::Value* top = b_.CreateShl(a, shift);
  llvm::Value* result = ptx::IsSigned(instruction.type())
                            ? b_.CreateAShr(top, shift)
                            : b_.CreateLShr(top, shift);
  return b_.CreateSelect(none, zero, result);
}

}  // namespace holdfast::software::jit
