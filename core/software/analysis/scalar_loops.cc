// SPDX-License-Identifier: Apache-2.0
//
// The loop in mind goes over a row of a sparse matrix, one row a lane. As
// vectors, all rows take as long as the longest one, and each round is gathers.
// One lane at a time costs the sum of the lengths, but no masks, and a load
// mostly hits the line that the lane's last load has brought.
#include "core/software/analysis/scalar_loops.h"

#include <algorithm>

#include "core/software/analysis/control_flow.h"

namespace holdfast::software::analysis {
namespace {

using lower::Block;
using lower::ConvergencePoint;
using lower::ConvergencePointOf;
using lower::DestinationCount;
using lower::Kernel;
using lower::kExit;

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;

// Blocks [first, last].
struct Range {
  size_t first;
  size_t last;

  bool Has(int block) const {
    return block >= static_cast<int>(first) && block <= static_cast<int>(last);
  }
};

bool IsPlainLoad(const Instruction& instruction) {
  const auto& words = instruction.modifiers;
  return instruction.opcode() == Opcode::kLd &&
         !words.Has(Modifier::kVolatile) && !words.Has(Modifier::kRelaxed) &&
         !words.Has(Modifier::kAcquire);
}

// Operations that a lane can do alone at any time, without another lane
// noticing: arithmetic, and loads without an order. No store is among them,
// since lanes that run one after the other would store in another order.
bool IsPlain(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kAbs:
    case Opcode::kAdd:
    case Opcode::kAnd:
    case Opcode::kBra:
    case Opcode::kCvt:
    case Opcode::kCvta:
    case Opcode::kDiv:
    case Opcode::kFma:
    case Opcode::kMad:
    case Opcode::kMax:
    case Opcode::kMin:
    case Opcode::kMov:
    case Opcode::kMul:
    case Opcode::kNeg:
    case Opcode::kNot:
    case Opcode::kOr:
    case Opcode::kRem:
    case Opcode::kSelp:
    case Opcode::kSetp:
    case Opcode::kShl:
    case Opcode::kShr:
    case Opcode::kSub:
    case Opcode::kXor:
      break;
    default:
      return IsPlainLoad(instruction);
  }
  const auto is_vector = [](const Operand& operand) {
    return operand.kind == Operand::Kind::kVector;
  };
  return instruction.carry == ptx::kNoRegister &&
         DestinationCount(instruction) <= 1 &&
         std::none_of(instruction.operands.begin(), instruction.operands.end(),
                      is_vector);
}

class Finder {
 public:
  Finder(const Kernel& kernel, const std::vector<LaneShape>& shapes,
         const std::vector<bool>& divergent)
      : kernel_(kernel),
        shapes_(shapes),
        divergent_(divergent),
        data_(RegistersFromData(kernel)) {}

  // All blocks between the first and the last of a loop count as the loop's.
  // Takes the outermost of nested loops that qualifies.
  // A loop is taken to be the blocks between the target of a branch backward
  // and that branch, which holds for the layout of compilers; blocks in between
  // that belong to no loop are run by the lane as well, since they are plain,
  // too.
  std::vector<int> Run() const {
    std::vector<Range> found;
    for (size_t k = 0; k < kernel_.blocks.size(); ++k) {
      for (const int next : Successors(kernel_, k)) {
        if (next == kExit || next > static_cast<int>(k)) continue;
        const Range range{static_cast<size_t>(next), k};
        if (IsWorthIt(range)) found.push_back(range);
      }
    }
    std::stable_sort(
        found.begin(), found.end(), [](const Range& a, const Range& b) {
          return a.first != b.first ? a.first < b.first : a.last > b.last;
        });
    std::vector<Range> chosen;
    for (const Range& range : found) {
      if (!chosen.empty() && range.first <= chosen.back().last) continue;
      if (!chosen.empty() && AreOne(chosen.back(), range)) {
        chosen.back().last = range.last;
      } else {
        chosen.push_back(range);
      }
    }
    std::vector<int> loops(kernel_.blocks.size(), -1);
    for (const Range& range : chosen) {
      std::fill(loops.begin() + static_cast<ptrdiff_t>(range.first),
                loops.begin() + static_cast<ptrdiff_t>(range.last) + 1,
                static_cast<int>(range.first));
    }
    return loops;
  }

 private:
  // A loop of few instructions, of which many gather, and which lanes leave as
  // their data say.
  bool IsWorthIt(const Range& range) const {
    constexpr size_t kMost = 512;  // instructions
    constexpr size_t kShare = 8;   // of them, one in so many is a gather
    size_t gathers = 0, others = 0;
    bool parts = false;
    for (size_t k = range.first; k <= range.last; ++k) {
      if (!IsPlainBlock(k)) return false;
      const Block& block = kernel_.blocks[k];
      for (uint32_t i = block.first; i < block.last; ++i) {
        ++(Gathers(kernel_.function->body[i]) ? gathers : others);
      }
      parts = parts || PartsByData(range, k);
    }
    return parts && gathers * kShare >= others && gathers + others <= kMost;
  }

  // With little between them, as a loop that is unrolled and the loop for what
  // is left over: a lane goes through both while its data are at hand.
  bool AreOne(const Range& loop, const Range& next) const {
    constexpr size_t kMost = 64;  // instructions
    size_t between = 0;
    for (size_t k = loop.last + 1; k < next.first; ++k) {
      if (!IsPlainBlock(k)) return false;
      between += kernel_.blocks[k].last - kernel_.blocks[k].first;
    }
    return between <= kMost;
  }

  // One lane can run it by itself.
  bool IsPlainBlock(size_t k) const {
    const Block& block = kernel_.blocks[k];
    const auto body = kernel_.function->body.begin();
    return !block.may_spin &&
           ConvergencePointOf(FirstOf(block)) == ConvergencePoint::kNone &&
           std::all_of(body + block.first, body + block.last, IsPlain);
  }

  const Instruction& FirstOf(const Block& block) const {
    return kernel_.function->body[block.first];
  }

  bool Gathers(const Instruction& instruction) const {
    if (!IsPlainLoad(instruction)) return false;
    const Operand& place = instruction.operands[1];
    return place.kind == Operand::Kind::kRegister &&
           shapes_[place.index].varying;
  }

  // Lanes leave the range at the end of block k, each when its data say so.
  bool PartsByData(const Range& range, size_t k) const {
    const auto next = Successors(kernel_, k);
    const Operand& guard =
        kernel_.function->body[kernel_.blocks[k].last - 1].guard;
    return divergent_[k] && data_[guard.index] &&
           std::any_of(next.begin(), next.end(),
                       [&](int block) { return !range.Has(block); });
  }

  const Kernel& kernel_;
  const std::vector<LaneShape>& shapes_;
  const std::vector<bool>& divergent_;
  const std::vector<bool> data_;
};

}  // namespace

std::vector<int> ScalarLoops(const Kernel& kernel,
                             const std::vector<LaneShape>& shapes,
                             const std::vector<bool>& divergent) {
  return Finder(kernel, shapes, divergent).Run();
}

bool EntersScalarLoop(const Kernel& kernel, const std::vector<int>& loops,
                      size_t k) {
  if (k == 0) return true;
  for (const int from : Predecessors(kernel, k)) {
    if (loops[from] != loops[k]) return true;
  }
  return false;
}

}  // namespace holdfast::software::analysis
