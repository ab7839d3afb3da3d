// SPDX-License-Identifier: Apache-2.0
#include "core/software/analysis/lane_shape.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <optional>
#include <vector>

#include "core/software/analysis/control_flow.h"

namespace holdfast::software::analysis {
namespace {

using lower::DestinationCount;

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Special;
using ptx::Type;

using LaneShapes = absl::Span<const LaneShape>;

constexpr int kAllZeros = 63;

int ZerosOf(uint64_t bits) {
  return bits == 0 ? kAllZeros : std::min(std::countr_zero(bits), kAllZeros);
}

LaneShape Affine(int64_t stride, bool wide, int zeros = 0) {
  return {false, wide, stride, std::clamp(zeros, 0, kAllZeros)};
}

// As its unit may become smaller: each chunk has a base of its own.
int ZerosIn(const LaneShape& shape, bool wide, int chunk_lanes) {
  if (wide || !shape.wide || shape.stride == 0) return shape.zeros;
  return std::min(shape.zeros, ZerosOf(static_cast<uint64_t>(shape.stride) *
                                       static_cast<uint64_t>(chunk_lanes)));
}

// Returns true if the lanes of a unit lie 2^31 or more apart, so that some of
// them wrap in 32 bits whatever the base is, as in threadIdx.x * 2654435761.
bool AlwaysWraps(const LaneShape& shape, int chunk_lanes) {
  int32_t distance;
  return __builtin_mul_overflow(
      shape.stride, (shape.wide ? kWarpLanes : chunk_lanes) - 1, &distance);
}

// Without arithmetic on the lanes: uniform if everything is.
LaneShape Opaque(LaneShapes sources) {
  bool wide = true;
  for (const LaneShape& shape : sources) {
    if (shape.varying || shape.stride != 0) return LaneShape::Varying();
    wide = wide && shape.wide;
  }
  return Affine(0, wide);
}

// One number: neither a pair of them nor a predicate.
bool IsInteger(Type type) {
  return !ptx::IsFloat(type) && type != Type::kPred && type != Type::kTF32 &&
         ptx::HalfOf(type) == Type::kNone;
}

const Operand* Constant(const Instruction& instruction, size_t at) {
  const Operand& operand = instruction.operands[at];
  return operand.kind == Operand::Kind::kInteger ? &operand : nullptr;
}

// The constant as the instruction's type reads it: text may write a large
// unsigned factor as a negative number.
int64_t ValueOf(const Operand& constant, Type type) {
  if (ptx::BitsOf(type) != 32) return static_cast<int64_t>(constant.bits);
  return ptx::IsSigned(type)
             ? static_cast<int64_t>(static_cast<int32_t>(constant.bits))
             : static_cast<int64_t>(static_cast<uint32_t>(constant.bits));
}

// Vectors that other threads must see as a whole: each lane loads its own, and
// may see what another thread has stored in between.
bool MovesLaneByLane(const Instruction& instruction) {
  const ptx::Modifiers& words = instruction.modifiers;
  return instruction.operands[0].kind == Operand::Kind::kVector &&
         (words.Has(Modifier::kVolatile) || words.Has(Modifier::kRelaxed) ||
          words.Has(Modifier::kAcquire) || words.Has(Modifier::kCg) ||
          words.Has(Modifier::kCv));
}

// The algebra of affine values. With value(lane) = base + lane * stride:
//
//   a + b     strides add up
//   a * k     the stride is multiplied, by a constant k only
//   a << k    as a multiplication by a power of two
//   a >> k    uniform, if the lanes differ in the k low bits only
//   a & k     uniform or unchanged, if k takes none or all of the bits in which
//             the lanes differ
//   a | b     unchanged, if b is uniform and has none of these bits
//   a < k     uniform, if k lies between two units
//
// The last four hold only if no carry leaves the bits in which lanes differ,
// that is, if the base has zeros there (LaneBits). Everything else is uniform
// for uniform operands, and varying for others.
// One integer instruction.
class Rule {
 public:
  Rule(const Instruction& instruction, LaneShapes shapes, int chunk_lanes)
      : i_(instruction),
        s_(shapes.begin(), shapes.end()),
        chunk_lanes_(chunk_lanes) {
    for (size_t k = 1; k < s_.size(); ++k) {
      if (const Operand* constant = Constant(i_, k)) {
        s_[k].zeros = ZerosOf(constant->bits);
      }
    }
  }

  LaneShape Result() const {
    if (!IsWord()) return Rest();
    switch (i_.opcode()) {
      case Opcode::kMov:
      case Opcode::kCvta:
      case Opcode::kCvt:
        return Copy();
      case Opcode::kAdd:
      case Opcode::kSub:
        if (!IsLowerHalf()) break;
        return Sum(s_[1], s_[2], i_.opcode() == Opcode::kAdd ? 1 : -1);
      case Opcode::kMul:
        if (!IsLowerHalf()) break;
        return Product();
      case Opcode::kMad:
        if (!IsLowerHalf()) break;
        return Sum(Product(), s_[3], 1);
      case Opcode::kShl:
        return ShiftLeft();
      case Opcode::kShr:
        return ShiftRight();
      case Opcode::kAnd:
        return Masked();
      case Opcode::kOr:
      case Opcode::kXor:
        return Joined();
      default:
        break;
    }
    return Rest();
  }

  // A comparison of lanes that all lie on one side.
  LaneShape Compared() const {
    const LaneShape rest = Rest();
    if (!rest.varying || !IsInteger(i_.type()) || !IsWord()) return rest;
    if (s_.size() > 3 && !s_[3].uniform()) return rest;
    for (const int at : {1, 2}) {
      const auto bits = LaneBits(s_[at]);
      if (bits && s_[at].wide && s_[3 - at].uniform() &&
          SplitsBetweenUnits(at, *bits)) {
        return Affine(0, true);
      }
    }
    return rest;
  }

 private:
  LaneShape Rest() const { return Opaque(LaneShapes(s_).subspan(1)); }

  bool IsWord() const {
    const auto& types = i_.modifiers.types;
    return ptx::BitsOf(types[0]) >= 32 &&
           (i_.opcode() != Opcode::kCvt || ptx::BitsOf(types[1]) >= 32);
  }
  bool IsLowerHalf() const {
    return !i_.modifiers.Has(Modifier::kHi) &&
           !i_.modifiers.Has(Modifier::kSat);
  }

  // So many low bits hold all that the lanes of a unit differ in, and of the
  // base none of these is set.
  // Then base + lane * stride is base | (lane * stride): no carry goes from one
  // part to the other.
  std::optional<int> LaneBits(const LaneShape& shape) const {
    const int64_t last = (shape.wide ? kWarpLanes : chunk_lanes_) - 1;
    int64_t reach;
    if (shape.varying || shape.stride < 0 ||
        __builtin_mul_overflow(shape.stride, last, &reach)) {
      return std::nullopt;
    }
    const int bits = std::bit_width(static_cast<uint64_t>(reach));
    return bits <= shape.zeros && bits < ptx::BitsOf(i_.type())
               ? std::optional<int>(bits)
               : std::nullopt;
  }

  LaneShape Copy() const {
    if (i_.operands[0].kind == Operand::Kind::kVector) {
      const LaneShape part = Rest();
      return part.wide ? part : LaneShape::Varying();
    }
    if (i_.opcode() == Opcode::kMov) return s_[1];
    if (i_.opcode() == Opcode::kCvt) {
      return i_.modifiers.words.empty() ? s_[1] : Rest();
    }
    LaneShape result = s_[1];  // but for the base of a space
    result.zeros = 0;
    return result;
  }

  LaneShape Sum(const LaneShape& a, const LaneShape& b, int sign) const {
    if (a.varying || b.varying) return LaneShape::Varying();
    const bool wide = a.wide && b.wide;
    // Strides count modulo 2^64, as the values do.
    const uint64_t stride =
        static_cast<uint64_t>(a.stride) +
        static_cast<uint64_t>(sign) * static_cast<uint64_t>(b.stride);
    return Affine(static_cast<int64_t>(stride), wide,
                  std::min(ZerosIn(a, wide, chunk_lanes_),
                           ZerosIn(b, wide, chunk_lanes_)));
  }

  // base*k: affine by a constant; uniform by uniform.
  LaneShape Product() const {
    const int zeros = s_[1].zeros + s_[2].zeros;
    if (s_[1].stride == 0 && s_[2].stride == 0) {
      const LaneShape product = Opaque(LaneShapes(s_).subspan(1, 2));
      return product.varying ? product : Affine(0, product.wide, zeros);
    }
    for (const int at : {1, 2}) {
      const Operand* k = Constant(i_, static_cast<size_t>(at));
      if (k == nullptr) continue;
      const LaneShape& factor = s_[3 - at];
      int64_t stride;
      if (factor.varying ||
          __builtin_mul_overflow(factor.stride, ValueOf(*k, i_.type()),
                                 &stride)) {
        break;
      }
      return Affine(stride, factor.wide, zeros);
    }
    return LaneShape::Varying();
  }

  LaneShape ShiftLeft() const {
    const Operand* k = Constant(i_, 2);
    if (k == nullptr || k->bits >= 31 || s_[1].varying) return Rest();
    const auto stride = static_cast<uint64_t>(s_[1].stride) << k->bits;
    return Affine(static_cast<int64_t>(stride), s_[1].wide,
                  s_[1].zeros + static_cast<int>(k->bits));
  }

  // The bits in which the lanes differ are shifted out.
  LaneShape ShiftRight() const {
    const Operand* k = Constant(i_, 2);
    const auto bits = LaneBits(s_[1]);
    if (k == nullptr || !bits || k->bits >= 31 ||
        static_cast<int>(k->bits) < *bits) {
      return Rest();
    }
    return Affine(0, s_[1].wide, s_[1].zeros - static_cast<int>(k->bits));
  }

  // All or nothing of what the lanes differ in.
  LaneShape Masked() const {
    for (const int at : {1, 2}) {
      const Operand* constant = Constant(i_, static_cast<size_t>(at));
      const LaneShape& shape = s_[3 - at];
      const auto bits = LaneBits(shape);
      if (constant == nullptr || !bits) continue;
      const auto mask = static_cast<uint64_t>(ValueOf(*constant, i_.type()));
      const uint64_t low = (uint64_t{1} << *bits) - 1;
      if ((mask & low) != 0 && (mask & low) != low) continue;
      const uint64_t of_base = mask & ~((uint64_t{1} << shape.zeros) - 1);
      return Affine((mask & low) == 0 ? 0 : shape.stride, shape.wide,
                    ZerosOf(of_base));
    }
    return Rest();
  }

  // With bits that are set in the bases alone.
  LaneShape Joined() const {
    for (const int at : {1, 2}) {
      const LaneShape& shape = s_[at];
      const LaneShape& other = s_[3 - at];
      const auto bits = LaneBits(shape);
      if (!bits || !other.chunk_uniform() || other.zeros < *bits) continue;
      if (shape.wide && !other.wide) continue;
      return Affine(shape.stride, shape.wide,
                    std::min(shape.zeros, other.zeros));
    }
    return Rest();
  }

  // Whether the bound that operand `at` is compared with lies between two
  // units, so that their bases tell all: a multiple of what a unit reaches for
  // < and >=, the number below it for > and <=.
  bool SplitsBetweenUnits(int at, int bits) const {
    const ptx::Modifiers& words = i_.modifiers;
    const auto any = [&](std::initializer_list<Modifier> names) {
      return std::any_of(names.begin(), names.end(),
                         [&](Modifier name) { return words.Has(name); });
    };
    const bool less =
        any({Modifier::kLt, Modifier::kGe, Modifier::kLo, Modifier::kHs});
    const bool more =
        any({Modifier::kGt, Modifier::kLe, Modifier::kHi, Modifier::kLs});
    if (!less && !more) return false;
    if (less == (at == 1)) return s_[3 - at].zeros >= bits;
    const Operand* bound = Constant(i_, static_cast<size_t>(3 - at));
    return bound != nullptr && ZerosOf(bound->bits + 1) >= bits;
  }

  const Instruction& i_;
  std::vector<LaneShape> s_;
  const int chunk_lanes_;
};

}  // namespace

bool Widens(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kCvt) {
    return ptx::BitsOf(instruction.modifiers.types[0]) == 64 &&
           ptx::BitsOf(instruction.modifiers.types[1]) == 32 &&
           !ptx::IsFloat(instruction.modifiers.types[0]) &&
           !ptx::IsFloat(instruction.modifiers.types[1]);
  }
  return (instruction.opcode() == Opcode::kMul ||
          instruction.opcode() == Opcode::kMad) &&
         instruction.modifiers.Has(Modifier::kWide) &&
         ptx::BitsOf(instruction.type()) == 32;
}

// threadIdx.x is affine where no row of the block ends within a unit.
// A row of 16 threads thus gives chunks of 16 or 8 lanes a base each, and one
// of 10 threads none.
LaneShape ShapeOfSpecial(Special special, const BlockShape& block, Mode mode,
                         int chunk_lanes) {
  const bool wide = block.row() || block.x % kWarpLanes == 0;
  const bool chunked = wide || block.x % chunk_lanes == 0;
  switch (special) {
    case Special::kTidX:
      if (!chunked) return LaneShape::Varying();
      return Affine(1, wide, ZerosOf(wide ? kWarpLanes : chunk_lanes));
    case Special::kTidY:
    case Special::kTidZ:
      return chunked ? Affine(0, wide) : LaneShape::Varying();
    case Special::kNtidX:
      if (block.any_row()) {
        return Affine(0, true, mode == Mode::kFull ? ZerosOf(kWarpLanes) : 0);
      }
      return Affine(0, true, ZerosOf(block.x));
    case Special::kNtidY:
      return Affine(0, true, ZerosOf(block.y));
    case Special::kNtidZ:
      return Affine(0, true, ZerosOf(block.z));
    case Special::kLaneid:
      return Affine(1, true, kAllZeros);
    case Special::kLanemaskEq:
    case Special::kLanemaskGe:
    case Special::kLanemaskGt:
    case Special::kLanemaskLe:
    case Special::kLanemaskLt:
      return LaneShape::Varying();
    default:
      return Affine(0, true);
  }
}

// The least upper bound: varying is the top, and units only become smaller.
LaneShape Join(const LaneShape& a, const LaneShape& b, int chunk_lanes) {
  if (a.varying || b.varying || a.stride != b.stride)
    return LaneShape::Varying();
  const bool wide = a.wide && b.wide;
  return Affine(
      a.stride, wide,
      std::min(ZerosIn(a, wide, chunk_lanes), ZerosIn(b, wide, chunk_lanes)));
}

// Loads are uniform at a uniform address, since lanes of one instruction load
// together. Results that a warp computes together, such as votes, are uniform;
// those that a lane gets from another lane or from an atomic operation vary.
// Predicates have no units: one that is uniform per chunk only is kept as
// varying, one bit a lane.
LaneShape ResultShape(const Instruction& instruction, LaneShapes s, Mode mode,
                      int chunk_lanes) {
  if (instruction.carry != ptx::kNoRegister) return LaneShape::Varying();
  switch (instruction.opcode()) {
    case Opcode::kLd:
    case Opcode::kLdu:
      if (MovesLaneByLane(instruction)) return LaneShape::Varying();
      return Opaque(s.subspan(1, 1));
    case Opcode::kLop3:
      if (DestinationCount(instruction) == 2) return LaneShape::Varying();
      break;
    case Opcode::kIsspacep:
    case Opcode::kTestp:
    case Opcode::kSetp: {
      if (DestinationCount(instruction) == 2) return LaneShape::Varying();
      const LaneShape shape = instruction.opcode() == Opcode::kSetp
                                  ? Rule(instruction, s, chunk_lanes).Compared()
                                  : Opaque(s.subspan(1));
      return shape.wide ? shape : LaneShape::Varying();
    }
    case Opcode::kActivemask:
    case Opcode::kVote:
    case Opcode::kRedux:
    case Opcode::kBar:
    case Opcode::kBarrier:
      return LaneShape{};
    case Opcode::kMatch:
      return instruction.modifiers.Has(Modifier::kAll) ? LaneShape{}
                                                       : LaneShape::Varying();
    case Opcode::kAtom:
    case Opcode::kCall:
    case Opcode::kElect:
    case Opcode::kLdmatrix:
    case Opcode::kMbarrier:
    case Opcode::kMma:
    case Opcode::kMovmatrix:
    case Opcode::kShfl:
    case Opcode::kWmma:
      return LaneShape::Varying();
    default:
      break;
  }
  if (!IsInteger(instruction.type())) {
    LaneShape shape =
        instruction.opcode() == Opcode::kMov ? s[1] : Opaque(s.subspan(1));
    shape.zeros = 0;
    return shape.varying || shape.stride != 0 ||
                   (instruction.type() == Type::kPred && !shape.wide)
               ? LaneShape::Varying()
               : shape;
  }
  if (instruction.opcode() == Opcode::kCvt &&
      ptx::IsFloat(instruction.modifiers.types[1])) {
    return Opaque(s.subspan(1));
  }
  const LaneShape shape = Rule(instruction, s, chunk_lanes).Result();
  const bool affine = !shape.varying && shape.stride != 0;
  if (affine && Widens(instruction) &&
      (mode == Mode::kMasked ||
       std::any_of(s.begin() + 1, s.begin() + std::min<size_t>(s.size(), 3),
                   [&](const LaneShape& factor) {
                     return AlwaysWraps(factor, chunk_lanes);
                   }))) {
    return LaneShape::Varying();
  }
  return shape;
}

}  // namespace holdfast::software::analysis
