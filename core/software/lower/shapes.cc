// SPDX-License-Identifier: Apache-2.0
#include "core/software/lower/shapes.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "core/software/lower/control_flow.h"

namespace holdfast::software::lower {
namespace {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Special;
using ptx::Type;

Shape Affine(int64_t stride, bool wide) { return {false, wide, stride}; }

Shape Join(const std::optional<Shape>& a, const Shape& b) {
  if (!a || *a == b) return b;
  if (a->varying || b.varying || a->stride != b.stride) {
    return Shape::Varying();
  }
  return Affine(b.stride, false);
}

// Without arithmetic on the lanes: uniform if everything is.
Shape Opaque(absl::Span<const Shape> sources) {
  bool wide = true;
  for (const Shape& shape : sources) {
    if (shape.varying || shape.stride != 0) return Shape::Varying();
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

// base*k: affine by a constant; uniform by uniform.
Shape Product(const Instruction& instruction, absl::Span<const Shape> s) {
  if (s[1].stride == 0 && s[2].stride == 0) return Opaque(s.subspan(1, 2));
  for (size_t i : {1, 2}) {
    if (const Operand* k = Constant(instruction, i)) {
      int64_t stride;
      if (s[3 - i].varying ||
          __builtin_mul_overflow(s[3 - i].stride,
                                 ValueOf(*k, instruction.type()), &stride)) {
        return Shape::Varying();
      }
      return Affine(stride, s[3 - i].wide);
    }
  }
  return Shape::Varying();
}

Shape Sum(const Shape& a, const Shape& b, int sign) {
  if (a.varying || b.varying) return Shape::Varying();
  return Affine(a.stride + sign * b.stride, a.wide && b.wide);
}

Shape IntegerShape(const Instruction& instruction, absl::Span<const Shape> s) {
  const bool lower_half = !instruction.modifiers.Has(Modifier::kHi) &&
                          !instruction.modifiers.Has(Modifier::kSat) &&
                          ptx::BitsOf(instruction.type()) >= 32;
  switch (instruction.opcode()) {
    case Opcode::kMov:
    case Opcode::kCvta:
      return s[1];
    case Opcode::kAdd:
    case Opcode::kSub:
      if (!lower_half) break;
      return Sum(s[1], s[2], instruction.opcode() == Opcode::kAdd ? 1 : -1);
    case Opcode::kMul:
      if (!lower_half) break;
      return Product(instruction, s);
    case Opcode::kMad:
      if (!lower_half) break;
      return Sum(Product(instruction, s), s[3], 1);
    case Opcode::kShl:
      if (const Operand* k = Constant(instruction, 2);
          k != nullptr && k->bits < 31 && !s[1].varying && lower_half) {
        return Affine(s[1].stride << k->bits, s[1].wide);
      }
      break;
    case Opcode::kCvt:
      if (ptx::BitsOf(instruction.modifiers.types[0]) >= 32 &&
          ptx::BitsOf(instruction.modifiers.types[1]) >= 32 &&
          instruction.modifiers.words.empty()) {
        return s[1];
      }
      break;
    default:
      break;
  }
  return Opaque(s.subspan(1));
}

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

Shape ShapeOfSpecial(Special special, const BlockShape& block,
                     int chunk_lanes) {
  const bool row = block.y == 1 && block.z == 1;
  const bool wide = row || block.x % kWarpLanes == 0;
  const bool chunked = wide || block.x % chunk_lanes == 0;
  switch (special) {
    case Special::kTidX:
      return chunked ? Affine(1, wide) : Shape::Varying();
    case Special::kTidY:
    case Special::kTidZ:
      return chunked ? Affine(0, wide) : Shape::Varying();
    case Special::kLaneid:
      return Affine(1, true);
    case Special::kLanemaskEq:
    case Special::kLanemaskGe:
    case Special::kLanemaskGt:
    case Special::kLanemaskLe:
    case Special::kLanemaskLt:
      return Shape::Varying();
    default:
      return Affine(0, true);
  }
}

Shape ResultShape(const Instruction& instruction, absl::Span<const Shape> s,
                  Mode mode) {
  if (instruction.carry != ptx::kNoRegister) return Shape::Varying();
  switch (instruction.opcode()) {
    case Opcode::kLd:
    case Opcode::kLdu:
      if (instruction.modifiers.Has(Modifier::kParam)) return Shape{};
      return s[1].chunk_uniform() ? s[1] : Shape::Varying();
    case Opcode::kLop3:
      if (DestinationCount(instruction) == 2) return Shape::Varying();
      break;
    case Opcode::kIsspacep:
    case Opcode::kTestp:
    case Opcode::kSetp: {
      if (DestinationCount(instruction) == 2) return Shape::Varying();
      const Shape shape = Opaque(s.subspan(1));
      return shape.wide ? shape : Shape::Varying();
    }
    case Opcode::kActivemask:
    case Opcode::kVote:
    case Opcode::kRedux:
    case Opcode::kBar:
    case Opcode::kBarrier:
      return Shape{};
    case Opcode::kMatch:
      return instruction.modifiers.Has(Modifier::kAll) ? Shape{}
                                                       : Shape::Varying();
    case Opcode::kAtom:
    case Opcode::kCall:
    case Opcode::kElect:
    case Opcode::kMbarrier:
    case Opcode::kShfl:
      return Shape::Varying();
    default:
      break;
  }
  if (!IsInteger(instruction.type())) {
    const Shape shape =
        instruction.opcode() == Opcode::kMov ? s[1] : Opaque(s.subspan(1));
    return shape.varying || shape.stride != 0 ||
                   (instruction.type() == Type::kPred && !shape.wide)
               ? Shape::Varying()
               : shape;
  }
  if (instruction.opcode() == Opcode::kCvt &&
      ptx::IsFloat(instruction.modifiers.types[1])) {
    return Opaque(s.subspan(1));
  }
  const Shape shape = IntegerShape(instruction, s);
  const bool affine = !shape.varying && shape.stride != 0;
  if (affine && Widens(instruction)) {
    // Only a single affine factor can be checked; an affine 64-bit addend of
    // mad.wide is exact.
    if (mode == Mode::kMasked) return Shape::Varying();
  }
  return shape;
}

namespace {

class Analysis {
 public:
  Analysis(const Kernel& kernel, const BlockShape& block, Mode mode,
           int chunk_lanes)
      : kernel_(kernel), block_(block), mode_(mode), chunk_lanes_(chunk_lanes) {
    const size_t count = kernel.function->registers.size();
    shapes_.resize(count);
    forced_.resize(count, false);
  }

  Shapes Run() {
    Shapes result;
    const size_t count = kernel_.blocks.size();
    result.overwrite.resize(forced_.size(), false);
    if (mode_ == Mode::kMasked) {
      FindUnsafe(std::vector<bool>(forced_.size(), true), &result.overwrite);
      Iterate();
    } else {
      // What is varying can make branches part the lanes, and that can make
      // more varying.
      const std::vector<int> meetings = ImmediatePostDominators(kernel_);
      const auto live = LiveRegisters(kernel_);
      std::vector<std::vector<int>> regions;
      for (size_t k = 0; k < count; ++k) {
        regions.push_back(BranchRegion(kernel_, k, meetings[k]));
      }
      std::vector<bool> divergent(count, false), last;
      do {
        last = divergent;
        FindUnsafe(MergedRegisters(kernel_, meetings, live,
                                   Merging(divergent, regions)),
                   nullptr);
        Iterate();
        divergent = DivergentBlocks();
      } while (divergent != last);
      for (size_t k = 0; k < count; ++k) {
        if (!divergent[k]) regions[k].clear();
        if (!regions[k].empty()) divergent[k] = false;
      }
      result.regions = std::move(regions);
      result.joins = meetings;
      result.meetings = Meetings(meetings, divergent);
    }
    for (const auto& shape : shapes_) {
      result.registers.push_back(shape.value_or(Shape{}));
    }
    return result;
  }

 private:
  void Iterate() {
    std::fill(shapes_.begin(), shapes_.end(), std::nullopt);
    while (Step()) {
    }
  }

  // The branches that lanes have to be expected to leave with values of their
  // own: those that full code runs under masks, and those that depend on data.
  // Others, such as the end of a loop that counts up to a bound, part the lanes
  // in few warps; there, masked code goes on if the values do not fit.
  std::vector<bool> Merging(
      std::vector<bool> divergent,
      const std::vector<std::vector<int>>& regions) const {
    const std::vector<bool> data = RegistersFromData(kernel_);
    for (size_t k = 0; k < divergent.size(); ++k) {
      const Operand& guard =
          kernel_.function->body[kernel_.blocks[k].last - 1].guard;
      divergent[k] = divergent[k] && (!regions[k].empty() || data[guard.index]);
    }
    return divergent;
  }

  // Where masked code looks whether it can become full code again. Each place
  // costs code, so that of many only those behind barriers remain.
  std::vector<bool> Meetings(const std::vector<int>& post_dominators,
                             const std::vector<bool>& divergent) const {
    constexpr size_t kMany = 24;
    const size_t count = kernel_.blocks.size();
    std::vector<bool> behind_barriers(count, false);
    for (const Block& block : kernel_.blocks) {
      const Instruction& first = kernel_.function->body[block.first];
      if (MeetingOf(first) == Meeting::kBlock && block.next != kExit) {
        behind_barriers[block.next] = true;
      }
    }
    std::vector<bool> all = behind_barriers;
    for (size_t k = 0; k < count; ++k) {
      if (divergent[k] && post_dominators[k] != kExit) {
        all[post_dominators[k]] = true;
      }
    }
    const auto places = std::count(all.begin(), all.end(), true);
    return places > static_cast<ptrdiff_t>(kMany) ? behind_barriers : all;
  }

  // Blocks at whose end the lanes may go different ways.
  std::vector<bool> DivergentBlocks() {
    std::vector<bool> result;
    for (const Block& block : kernel_.blocks) {
      const Instruction& end = kernel_.function->body[block.last - 1];
      const auto guard = ShapeOf(end.guard);
      result.push_back(block.branches &&
                       end.guard.kind != Operand::Kind::kNone &&
                       guard.value_or(Shape{}).varying);
    }
    return result;
  }

  // Where lanes that did not run together bring their values of the registers
  // `merged`, such a register is one value per warp only if no lane can see it
  // from another execution of its definition than its own.
  void FindUnsafe(const std::vector<bool>& merged,
                  std::vector<bool>* overwrite) {
    const size_t count = shapes_.size();
    std::vector<int> definitions(count, 0), home(count, -1);
    std::vector<bool> pure(count, true), outside(count, false);
    for (size_t k = 0; k < kernel_.blocks.size(); ++k) {
      ForEach(k, [&](const Instruction& instruction) {
        for (uint32_t r : RegistersWritten(instruction)) {
          ++definitions[r];
          home[r] = static_cast<int>(k);
          if (instruction.guard.kind != Operand::Kind::kNone) {
            definitions[r] += 2;
          }
          if (!IsPure(instruction)) pure[r] = false;
        }
      });
    }
    // Read in front of its definition, a register comes from the last round.
    std::vector<int> written(count, -1);
    for (size_t k = 0; k < kernel_.blocks.size(); ++k) {
      ForEach(k, [&](const Instruction& instruction) {
        for (uint32_t r : RegistersRead(instruction)) {
          if (written[r] != static_cast<int>(k)) outside[r] = true;
        }
        for (uint32_t r : RegistersWritten(instruction)) {
          written[r] = static_cast<int>(k);
        }
      });
    }
    for (size_t r = 0; r < count; ++r) {
      const bool cycle = home[r] >= 0 && kernel_.blocks[home[r]].in_cycle;
      if (overwrite != nullptr) {
        (*overwrite)[r] = definitions[r] <= 1 && (!outside[r] || !cycle);
      }
      forced_[r] = merged[r] &&
                   (definitions[r] > 1 || (outside[r] && (cycle || !pure[r])));
    }
  }

  template <typename Visit>
  void ForEach(size_t k, Visit visit) {
    const Block& block = kernel_.blocks[k];
    for (uint32_t i = block.first; i < block.last; ++i) {
      visit(kernel_.function->body[i]);
    }
  }

  bool Step() {
    bool changed = false;
    for (size_t k = 0; k < kernel_.blocks.size(); ++k) {
      ForEach(k, [&](const Instruction& i) { changed = Visit(i) || changed; });
    }
    return changed;
  }

  std::optional<Shape> ShapeOf(const Operand& operand) {
    switch (operand.kind) {
      case Operand::Kind::kRegister:
        return shapes_[operand.index];
      case Operand::Kind::kSpecial:
        return ShapeOfSpecial(static_cast<Special>(operand.index), block_,
                              chunk_lanes_);
      case Operand::Kind::kVector:
        return Shape::Varying();
      case Operand::Kind::kLocalVariable:
        if (kernel_.VariableOf(operand).space == ptx::Space::kLocal) {
          return Affine(static_cast<int64_t>(kernel_.local_bytes), true);
        }
        return Shape{};
      default:
        return Shape{};
    }
  }

  bool Visit(const Instruction& instruction) {
    const auto written = RegistersWritten(instruction);
    if (written.empty()) return false;
    std::vector<Shape> operands;
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      const auto shape = ShapeOf(instruction.operands[i]);
      if (!shape && i >= DestinationCount(instruction)) {
        return false;  // comes in a later step
      }
      operands.push_back(shape.value_or(Shape{}));
    }
    Shape shape = ResultShape(instruction, operands, mode_);
    if (instruction.guard.kind != Operand::Kind::kNone) {
      const auto guard = ShapeOf(instruction.guard);
      if (!guard) return false;
      if (!guard->uniform()) shape = Shape::Varying();
    }
    bool changed = false;
    for (uint32_t r : written) {
      const Shape joined =
          forced_[r] ? Shape::Varying() : Join(shapes_[r], shape);
      changed = changed || shapes_[r] != joined;
      shapes_[r] = joined;
    }
    return changed;
  }

  const Kernel& kernel_;
  const BlockShape block_;
  const Mode mode_;
  const int chunk_lanes_;
  std::vector<std::optional<Shape>> shapes_;
  std::vector<bool> forced_;
};

}  // namespace

Shapes ComputeShapes(const Kernel& kernel, const BlockShape& block, Mode mode,
                     int chunk_lanes) {
  return Analysis(kernel, block, mode, chunk_lanes).Run();
}

}  // namespace holdfast::software::lower
