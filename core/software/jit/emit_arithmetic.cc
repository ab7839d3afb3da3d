// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/kernel_emitter.h"
#include "llvm/IR/Intrinsics.h"

namespace holdfast::software::jit {

using lower::Shape;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

namespace {

using Values = absl::Span<llvm::Value* const>;

// The type as which source operand `at` is read.
Type SourceType(const Instruction& instruction, size_t at) {
  const auto& types = instruction.modifiers.types;
  const bool last = at + 1 == instruction.operands.size();
  switch (instruction.opcode()) {
    case Opcode::kCvt:
      return types[1];
    case Opcode::kSelp:
      return last ? Type::kPred : types[0];
    case Opcode::kSetp:
      return at == 3 ? Type::kPred : types[0];
    case Opcode::kShl:
    case Opcode::kShr:
      return at == 2 ? Type::kU32 : types[0];
    case Opcode::kBfe:
      return at >= 2 ? Type::kU32 : types[0];
    case Opcode::kBfi:
      return at >= 3 ? Type::kU32 : types[0];
    case Opcode::kDp4a:
    case Opcode::kDp2a:
      return types[at == 2 ? 1 : 0];
    case Opcode::kSlct:
      return at == 3 ? types[1] : types[0];
    case Opcode::kSet:
      return at == 3 ? Type::kPred : types[1];
    case Opcode::kMad:
      break;
    default:
      return types[0];
  }
  if (at < 3 || !instruction.modifiers.Has(Modifier::kWide)) return types[0];
  switch (types[0]) {
    case Type::kU16:
      return Type::kU32;
    case Type::kS16:
      return Type::kS32;
    case Type::kU32:
      return Type::kU64;
    default:
      return Type::kS64;
  }
}

Type ResultType(const Instruction& instruction) {
  const auto& types = instruction.modifiers.types;
  switch (instruction.opcode()) {
    case Opcode::kSetp:
    case Opcode::kTestp:
      return Type::kPred;
    case Opcode::kPopc:
    case Opcode::kClz:
    case Opcode::kBfind:
      return Type::kU32;
    case Opcode::kDp4a:
    case Opcode::kDp2a:
      return ptx::IsSigned(types[0]) || ptx::IsSigned(types[1]) ? Type::kS32
                                                                : Type::kU32;
    default:
      break;
  }
  if (!instruction.modifiers.Has(Modifier::kWide)) return types[0];
  switch (types[0]) {
    case Type::kU16:
      return Type::kU32;
    case Type::kS16:
      return Type::kS32;
    case Type::kU32:
      return Type::kU64;
    default:
      return Type::kS64;
  }
}

bool IsFloatOperation(const Instruction& instruction) {
  return ptx::IsFloat(instruction.type()) &&
         instruction.opcode() != Opcode::kMov &&
         instruction.opcode() != Opcode::kSelp;
}

}  // namespace

llvm::Type* KernelEmitter::Like(llvm::Value* value, llvm::Type* element) {
  return value->getType()->isVectorTy() ? VectorOf(element) : element;
}

void KernelEmitter::EmitArithmetic(const Instruction& instruction) {
  const auto& operands = instruction.operands;
  if (instruction.carry != ptx::kNoRegister) return EmitCarry(instruction);
  if (operands.size() < 2) return Fail(instruction, "not an operation");
  if (operands[0].kind == Operand::Kind::kVector) {
    return EmitUnpack(instruction);
  }
  if (operands[1].kind == Operand::Kind::kVector) return EmitPack(instruction);
  if (lower::DestinationCount(instruction) == 2) {
    return EmitSetpPair(instruction);
  }
  std::vector<Value> in = {Value{}};
  std::vector<Shape> shapes = {Shape{}};
  for (size_t i = 1; i < operands.size(); ++i) {
    in.push_back(Read(operands[i], SourceType(instruction, i)));
    shapes.push_back(in.back().shape);
  }
  Value result{lower::ResultShape(instruction, shapes, mode_),
               ResultType(instruction),
               {}};
  const bool affine = !result.shape.varying && result.shape.stride != 0;
  if (affine && lower::Widens(instruction)) {
    for (const Value& value : in) {
      if (value.parts.empty() || value.shape.stride == 0 ||
          ptx::BitsOf(value.type) != 32) {
        continue;
      }
      CheckNoWrap(instruction, value);
    }
  }
  for (int c = 0; c < PartsOf(result.shape); ++c) {
    llvm::SmallVector<llvm::Value*, 4> parts;
    for (size_t i = 1; i < in.size(); ++i) {
      parts.push_back(result.shape.varying ? Vector(in[i], c) : Base(in[i], c));
    }
    llvm::Value* part = Compute(instruction, parts);
    if (part == nullptr) return Fail(instruction, "cannot be translated");
    result.parts.push_back(part);
  }
  for (size_t i = 0; i < 1; ++i) Write(operands[i], result);
}

// setp p|q, a, b[, c]: q is as p, of the opposite comparison.
void KernelEmitter::EmitSetpPair(const Instruction& instruction) {
  const auto& operands = instruction.operands;
  Value results[2];
  for (Value& result : results) {
    result = {Shape::Varying(), Type::kPred, {}};
  }
  const Value a = Read(operands[2], instruction.type());
  const Value b = Read(operands[3], instruction.type());
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* holds = Compare(instruction, Vector(a, c), Vector(b, c));
    if (holds == nullptr) return Fail(instruction, "cannot be translated");
    llvm::Value* sides[2] = {holds, b_.CreateNot(holds)};
    for (int i = 0; i < 2; ++i) {
      if (operands.size() > 4) {
        llvm::Value* with = Vector(Read(operands[4], Type::kPred), c);
        const auto& words = instruction.modifiers;
        sides[i] = words.Has(Modifier::kAnd)  ? b_.CreateAnd(sides[i], with)
                   : words.Has(Modifier::kOr) ? b_.CreateOr(sides[i], with)
                                              : b_.CreateXor(sides[i], with);
      }
      results[i].parts.push_back(sides[i]);
    }
  }
  Write(operands[0], results[0]);
  Write(operands[1], results[1]);
}

// mov.b64 %rd, {%lo, %hi}
void KernelEmitter::EmitPack(const Instruction& instruction) {
  const auto& elements = instruction.operands[1].elements;
  const int bits = ptx::BitsOf(instruction.type());
  const int each = bits / static_cast<int>(elements.size());
  const Type narrow = each == 32   ? Type::kB32
                      : each == 16 ? Type::kB16
                      : each == 8  ? Type::kB8
                                   : Type::kNone;
  if (narrow == Type::kNone) return Fail(instruction, "bad vector");
  Value result{Shape::Varying(), instruction.type(), {}};
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* whole = nullptr;
    for (size_t i = 0; i < elements.size(); ++i) {
      llvm::Value* part = b_.CreateZExt(Vector(Read(elements[i], narrow), c),
                                        VectorOf(b_.getIntNTy(bits)));
      part = b_.CreateShl(part, each * i);
      whole = whole == nullptr ? part : b_.CreateOr(whole, part);
    }
    result.parts.push_back(whole);
  }
  Write(instruction.operands[0], result);
}

void KernelEmitter::EmitUnpack(const Instruction& instruction) {
  const auto& elements = instruction.operands[0].elements;
  const int bits = ptx::BitsOf(instruction.type());
  const int each = bits / static_cast<int>(elements.size());
  const Type narrow = each == 32   ? Type::kB32
                      : each == 16 ? Type::kB16
                      : each == 8  ? Type::kB8
                                   : Type::kNone;
  if (narrow == Type::kNone || instruction.opcode() != Opcode::kMov) {
    return Fail(instruction, "bad vector");
  }
  const Value whole = Read(instruction.operands[1], instruction.type());
  for (size_t i = 0; i < elements.size(); ++i) {
    Value part{Shape::Varying(), narrow, {}};
    for (int c = 0; c < chunks_; ++c) {
      part.parts.push_back(
          b_.CreateTrunc(b_.CreateLShr(Vector(whole, c), each * i),
                         VectorOf(b_.getIntNTy(each))));
    }
    if (whole.shape.chunk_uniform() && whole.shape.wide) {
      part.shape = Shape{};
      part.parts.resize(1);
      part.parts[0] = b_.CreateTrunc(b_.CreateLShr(whole.parts[0], each * i),
                                     b_.getIntNTy(each));
    }
    Write(elements[i], part);
  }
}

llvm::Value* KernelEmitter::Compute(const Instruction& instruction, Values in) {
  switch (instruction.opcode()) {
    case Opcode::kMov:
    case Opcode::kCvta: {
      if (instruction.opcode() == Opcode::kMov ||
          !instruction.modifiers.Has(Modifier::kShared)) {
        return in[0];
      }
      llvm::Value* base = shared_;
      if (in[0]->getType()->isVectorTy()) base = Splat(base);
      return instruction.modifiers.Has(Modifier::kTo)
                 ? b_.CreateSub(in[0], base)
                 : b_.CreateAdd(in[0], base);
    }
    case Opcode::kSelp:
      return b_.CreateSelect(in[2], in[0], in[1]);
    case Opcode::kSetp: {
      llvm::Value* result = Compare(instruction, in[0], in[1]);
      if (in.size() < 3) return result;
      if (instruction.modifiers.Has(Modifier::kAnd)) {
        return b_.CreateAnd(result, in[2]);
      }
      return instruction.modifiers.Has(Modifier::kOr)
                 ? b_.CreateOr(result, in[2])
                 : b_.CreateXor(result, in[2]);
    }
    case Opcode::kCvt:
      return Convert(instruction, in[0]);
    case Opcode::kSlct: {
      llvm::Value* zero = llvm::Constant::getNullValue(in[2]->getType());
      llvm::Value* positive = ptx::IsFloat(instruction.modifiers.types[1])
                                  ? b_.CreateFCmpOGE(in[2], zero)
                                  : b_.CreateICmpSGE(in[2], zero);
      return b_.CreateSelect(positive, in[0], in[1]);
    }
    case Opcode::kAnd:
      return b_.CreateAnd(in[0], in[1]);
    case Opcode::kOr:
      return b_.CreateOr(in[0], in[1]);
    case Opcode::kXor:
      return b_.CreateXor(in[0], in[1]);
    case Opcode::kNot:
      return b_.CreateNot(in[0]);
    case Opcode::kShl:
    case Opcode::kShr:
      return Shift(instruction, in[0], in[1]);
    default:
      return IsFloatOperation(instruction) ? ComputeFloat(instruction, in)
                                           : ComputeInteger(instruction, in);
  }
}

llvm::Value* KernelEmitter::ComputeInteger(const Instruction& instruction,
                                           Values in) {
  const bool is_signed = ptx::IsSigned(instruction.type());
  const bool saturate = instruction.modifiers.Has(Modifier::kSat);
  namespace Intrinsic = llvm::Intrinsic;
  switch (instruction.opcode()) {
    case Opcode::kAdd:
      return saturate
                 ? b_.CreateBinaryIntrinsic(Intrinsic::sadd_sat, in[0], in[1])
                 : b_.CreateAdd(in[0], in[1]);
    case Opcode::kSub:
      return saturate
                 ? b_.CreateBinaryIntrinsic(Intrinsic::ssub_sat, in[0], in[1])
                 : b_.CreateSub(in[0], in[1]);
    case Opcode::kMul:
      return Multiply(instruction, in[0], in[1]);
    case Opcode::kMad:
      return b_.CreateAdd(Multiply(instruction, in[0], in[1]), in[2]);
    case Opcode::kDiv:
    case Opcode::kRem:
      return Divide(instruction, in[0], in[1]);
    case Opcode::kNeg:
      return b_.CreateNeg(in[0]);
    case Opcode::kAbs:
      return b_.CreateBinaryIntrinsic(Intrinsic::abs, in[0], b_.getFalse());
    case Opcode::kMin:
      return b_.CreateBinaryIntrinsic(
          is_signed ? Intrinsic::smin : Intrinsic::umin, in[0], in[1]);
    case Opcode::kMax:
      return b_.CreateBinaryIntrinsic(
          is_signed ? Intrinsic::smax : Intrinsic::umax, in[0], in[1]);
    default:
      return ComputeBits(instruction, in);
  }
}

llvm::Value* KernelEmitter::Multiply(const Instruction& instruction,
                                     llvm::Value* a, llvm::Value* b) {
  const bool wide = instruction.modifiers.Has(Modifier::kWide);
  const bool high = instruction.modifiers.Has(Modifier::kHi);
  if (!wide && !high) return b_.CreateMul(a, b);
  const int bits = ptx::BitsOf(instruction.type());
  llvm::Type* twice = Like(a, b_.getIntNTy(2 * bits));
  const bool is_signed = ptx::IsSigned(instruction.type());
  auto extend = [&](llvm::Value* value) {
    return is_signed ? b_.CreateSExt(value, twice)
                     : b_.CreateZExt(value, twice);
  };
  llvm::Value* product = b_.CreateMul(extend(a), extend(b));
  if (wide) return product;
  return b_.CreateTrunc(b_.CreateLShr(product, bits), a->getType());
}

// Division by zero gives all ones, the remainder then is the dividend; the
// smallest number divided by -1 wraps.
llvm::Value* KernelEmitter::Divide(const Instruction& instruction,
                                   llvm::Value* a, llvm::Value* b) {
  const bool is_signed = ptx::IsSigned(instruction.type());
  const bool remainder = instruction.opcode() == Opcode::kRem;
  llvm::Value* zero = llvm::Constant::getNullValue(a->getType());
  llvm::Value* ones = llvm::Constant::getAllOnesValue(a->getType());
  llvm::Value* by_zero = b_.CreateICmpEQ(b, zero);
  llvm::Value* special = by_zero;
  llvm::Value* minus_one = nullptr;
  if (is_signed) {
    minus_one = b_.CreateICmpEQ(b, ones);
    special = b_.CreateOr(special, minus_one);
  }
  llvm::Value* divisor =
      b_.CreateSelect(special, llvm::ConstantInt::get(a->getType(), 1), b);
  llvm::Value* result =
      is_signed
          ? (remainder ? b_.CreateSRem(a, divisor) : b_.CreateSDiv(a, divisor))
          : (remainder ? b_.CreateURem(a, divisor) : b_.CreateUDiv(a, divisor));
  if (is_signed && !remainder) {
    result = b_.CreateSelect(minus_one, b_.CreateNeg(a), result);
  }
  return b_.CreateSelect(by_zero, remainder ? a : ones, result);
}

// Counts beyond the width shift everything out.
llvm::Value* KernelEmitter::Shift(const Instruction& instruction,
                                  llvm::Value* a, llvm::Value* count) {
  const int bits = ptx::BitsOf(instruction.type());
  llvm::Value* limit = llvm::ConstantInt::get(count->getType(), bits - 1);
  llvm::Value* clamped =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count, limit);
  clamped = b_.CreateZExtOrTrunc(clamped, a->getType());
  if (instruction.opcode() == Opcode::kShr &&
      ptx::IsSigned(instruction.type())) {
    return b_.CreateAShr(a, clamped);
  }
  llvm::Value* shifted = instruction.opcode() == Opcode::kShl
                             ? b_.CreateShl(a, clamped)
                             : b_.CreateLShr(a, clamped);
  return b_.CreateSelect(b_.CreateICmpUGT(count, limit),
                         llvm::Constant::getNullValue(a->getType()), shifted);
}

llvm::Value* KernelEmitter::ComputeFloat(const Instruction& instruction,
                                         Values operands) {
  const bool ftz = instruction.modifiers.Has(Modifier::kFtz);
  llvm::SmallVector<llvm::Value*, 4> in(operands.begin(), operands.end());
  if (ftz) {
    for (llvm::Value*& value : in) value = Flush(value);
  }
  namespace Intrinsic = llvm::Intrinsic;
  auto one = [&] { return llvm::ConstantFP::get(in[0]->getType(), 1.0); };
  llvm::Value* result = nullptr;
  const auto rounding = instruction.modifiers.In(Modifier::kRz, Modifier::kRp);
  if (rounding) {
    switch (instruction.opcode()) {
      case Opcode::kAdd:
        result = RoundDirected(*rounding, in[0], nullptr, in[1]);
        break;
      case Opcode::kSub:
        result = RoundDirected(*rounding, in[0], nullptr, b_.CreateFNeg(in[1]));
        break;
      case Opcode::kMul:
        result = RoundDirected(*rounding, in[0], in[1], nullptr);
        break;
      default:
        result = RoundDirected(*rounding, in[0], in[1], in[2]);
        break;
    }
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
      if (ftz && in[0]->getType()->getScalarType()->isDoubleTy()) {
        return ReciprocalHigh(in[0]);
      }
      result = b_.CreateFDiv(one(), in[0]);
      break;
    case Opcode::kSqrt:
      result = b_.CreateUnaryIntrinsic(Intrinsic::sqrt, in[0]);
      break;
    case Opcode::kRsqrt: {
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
      result = MinMax(instruction.opcode() == Opcode::kMin, in[0], in[1]);
      break;
    default:
      return nullptr;
  }
  if (instruction.modifiers.Has(Modifier::kSat)) result = Saturate(result);
  return ftz ? Flush(result) : result;
}

// rcp.approx.ftz.f64: only the high word of a double counts, in and out.
llvm::Value* KernelEmitter::ReciprocalHigh(llvm::Value* a) {
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
                        : words.Has(Modifier::kNormal)     ? llvm::fcNormal
                        : words.Has(Modifier::kSubnormal)
                            ? llvm::fcSubnormal
                            : static_cast<unsigned>(~llvm::fcNan & 0x3FF);
  return b_.createIsFPClass(a, kind);
}

// A number wins over NaN, and -0 is less than +0.
llvm::Value* KernelEmitter::MinMax(bool min, llvm::Value* a, llvm::Value* b) {
  llvm::Value* less = min ? b_.CreateFCmpOLT(a, b) : b_.CreateFCmpOGT(a, b);
  llvm::Value* chosen = b_.CreateSelect(less, a, b);
  llvm::Type* integer =
      Like(a, b_.getIntNTy(a->getType()->getScalarSizeInBits()));
  llvm::Value* x = b_.CreateBitCast(a, integer);
  llvm::Value* y = b_.CreateBitCast(b, integer);
  llvm::Value* same = min ? b_.CreateOr(x, y) : b_.CreateAnd(x, y);
  chosen = b_.CreateSelect(b_.CreateFCmpOEQ(a, b),
                           b_.CreateBitCast(same, a->getType()), chosen);
  return b_.CreateSelect(b_.CreateFCmpUNO(b, b), a, chosen);
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

llvm::Value* KernelEmitter::Compare(const Instruction& instruction,
                                    llvm::Value* a, llvm::Value* b) {
  using P = llvm::CmpInst::Predicate;
  const auto comparison =
      instruction.modifiers.In(Modifier::kEq, Modifier::kNan);
  const bool is_signed = ptx::IsSigned(instruction.type());
  const bool is_float = ptx::IsFloat(instruction.type());
  if (is_float && instruction.modifiers.Has(Modifier::kFtz)) {
    a = Flush(a);
    b = Flush(b);
  }
  auto choose = [&](P f, P s, P u) {
    return b_.CreateCmp(is_float ? f : is_signed ? s : u, a, b);
  };
  // .lo and .hi are also words of mul, so they lie outside the range.
  if (instruction.modifiers.Has(Modifier::kLo)) {
    return b_.CreateICmpULT(a, b);
  }
  if (instruction.modifiers.Has(Modifier::kHi)) {
    return b_.CreateICmpUGT(a, b);
  }
  if (!comparison) return nullptr;
  switch (*comparison) {
    case Modifier::kEq:
      return choose(P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ);
    case Modifier::kNe:
      return choose(P::FCMP_ONE, P::ICMP_NE, P::ICMP_NE);
    case Modifier::kLt:
      return choose(P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT);
    case Modifier::kLe:
      return choose(P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE);
    case Modifier::kGt:
      return choose(P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT);
    case Modifier::kGe:
      return choose(P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE);
    case Modifier::kLs:
      return b_.CreateICmpULE(a, b);
    case Modifier::kHs:
      return b_.CreateICmpUGE(a, b);
    default:
      break;
  }
  if (!is_float) return nullptr;
  switch (*comparison) {
    case Modifier::kEqu:
      return b_.CreateFCmpUEQ(a, b);
    case Modifier::kNeu:
      return b_.CreateFCmpUNE(a, b);
    case Modifier::kLtu:
      return b_.CreateFCmpULT(a, b);
    case Modifier::kLeu:
      return b_.CreateFCmpULE(a, b);
    case Modifier::kGtu:
      return b_.CreateFCmpUGT(a, b);
    case Modifier::kGeu:
      return b_.CreateFCmpUGE(a, b);
    case Modifier::kNum:
      return b_.CreateFCmpORD(a, b);
    case Modifier::kNan:
      return b_.CreateFCmpUNO(a, b);
    default:
      return nullptr;
  }
}

llvm::Value* KernelEmitter::Convert(const Instruction& instruction,
                                    llvm::Value* a) {
  namespace Intrinsic = llvm::Intrinsic;
  const Type to = instruction.modifiers.types[0];
  const Type from = instruction.modifiers.types[1];
  const bool ftz = instruction.modifiers.Has(Modifier::kFtz);
  llvm::Type* target = Like(a, TypeOf(to));
  if (!ptx::IsFloat(from) && !ptx::IsFloat(to)) {
    return ptx::IsSigned(from) ? b_.CreateSExtOrTrunc(a, target)
                               : b_.CreateZExtOrTrunc(a, target);
  }
  if (!ptx::IsFloat(from)) {
    a = ptx::IsSigned(from) ? b_.CreateSIToFP(a, target)
                            : b_.CreateUIToFP(a, target);
  } else {
    if (ftz) a = Flush(a);
    if (auto rounding =
            instruction.modifiers.In(Modifier::kRni, Modifier::kRpi)) {
      a = b_.CreateUnaryIntrinsic(
          *rounding == Modifier::kRni   ? Intrinsic::roundeven
          : *rounding == Modifier::kRzi ? Intrinsic::trunc
          : *rounding == Modifier::kRmi ? Intrinsic::floor
                                        : Intrinsic::ceil,
          a);
    }
    if (!ptx::IsFloat(to)) {
      return b_.CreateIntrinsic(
          ptx::IsSigned(to) ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
          {target, a->getType()}, {a});
    }
    a = b_.CreateFPCast(a, target);
    if (ftz) a = Flush(a);
  }
  return instruction.modifiers.Has(Modifier::kSat) ? Saturate(a) : a;
}

}  // namespace holdfast::software::jit
