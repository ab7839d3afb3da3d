// SPDX-License-Identifier: Apache-2.0
#include "core/software/analysis/divergence.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>

#include "core/software/analysis/control_flow.h"
#include "core/software/analysis/scalar_loops.h"

namespace holdfast::software::analysis {
namespace {

using lower::Block;
using lower::ConvergencePoint;
using lower::ConvergencePointOf;
using lower::DestinationCount;
using lower::Kernel;
using lower::kExit;
using lower::RegistersRead;
using lower::RegistersWritten;

using ptx::Instruction;
using ptx::Operand;
using ptx::Special;

// By block: masked code runs it once for each warp at most, for all lanes that
// ever come there.
//
// Masked code runs the lowest block first that lanes are pending at. When it
// comes to block k, no lane is left that could come there later, unless a path
// to k leads through k itself, through a higher block, through a block at which
// lanes are set aside, or through a loop that lets the blocks behind it run
// first. `last` is the highest block on the paths to each block, or a number
// above all for the latter two.
std::vector<bool> BlocksThatRunOnce(const Kernel& kernel) {
  const size_t count = kernel.blocks.size();
  std::vector<size_t> last(count, 0), leaves(count);
  for (size_t k = 0; k < count; ++k) {
    const Block& block = kernel.blocks[k];
    const bool apart = block.may_spin ||
                       ConvergencePointOf(kernel.function->body[block.first]) !=
                           ConvergencePoint::kNone;
    leaves[k] = apart ? count : k + 1;
    if (apart) last[k] = count;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = 0; k < count; ++k) {
      for (const int next : Successors(kernel, k)) {
        const size_t through = std::max(last[k], leaves[k]);
        if (next == kExit || last[next] >= through) continue;
        last[next] = through;
        changed = true;
      }
    }
  }
  std::vector<bool> once(count);
  for (size_t k = 0; k < count; ++k) once[k] = last[k] <= k;
  return once;
}

// A fixed point over the kernel's instructions: a register starts without a
// shape, takes that of its first definition, and becomes varying where others
// differ (Join).
//
// Full code adds a second, outer fixed point. Registers that lanes bring from
// different sides of a divergent branch are varying, which may make the guard
// of another branch varying, and that branch divergent.
// Both end: shapes only move up (uniform or affine over the warp, over a chunk,
// varying), and more divergence only forces more registers.
//
// Where SSA would have a phi, a register here has several definitions. Two
// things can make such a value differ between lanes although every definition
// is uniform: lanes that took different sides of a branch bring different
// definitions, and lanes that left a loop in different rounds bring the value
// of different rounds. FindUnsafe finds both, and forces such registers to be
// varying.
class Analysis {
 public:
  Analysis(const Kernel& kernel, const BlockShape& block, Mode mode,
           int chunk_lanes)
      : kernel_(kernel), block_(block), mode_(mode), chunk_lanes_(chunk_lanes) {
    const size_t count = kernel.function->registers.size();
    shapes_.resize(count);
    forced_.resize(count, false);
  }

  DivergenceAnalysis Run() {
    DivergenceAnalysis result;
    const size_t count = kernel_.blocks.size();
    result.overwrite.resize(forced_.size(), false);
    if (mode_ == Mode::kMasked) {
      FindUnsafe(std::vector<bool>(forced_.size(), true), &result.overwrite);
      Iterate();
    } else {
      // Regions come first: which branches a region could take does not depend
      // on shapes. They are dropped in the end for branches that do not
      // diverge.
      // A varying value can make a branch divergent, and divergence can make
      // more values varying.
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
      result.lane_loops = FindLaneLoops(divergent, regions);
      for (size_t k = 0; k < count; ++k) {
        if (!divergent[k]) regions[k].clear();
        if (!regions[k].empty()) divergent[k] = false;
      }
      result.regions = std::move(regions);
      result.joins = meetings;
      result.meetings = Meetings(meetings, divergent);
      for (size_t k = 0; k < count; ++k) {
        if (result.lane_loops[k] >= 0) result.meetings[k] = false;
      }
    }
    for (const auto& shape : shapes_) {
      result.registers.push_back(shape.value_or(LaneShape{}));
    }
    return result;
  }

 private:
  void Iterate() {
    std::fill(shapes_.begin(), shapes_.end(), std::nullopt);
    // All lanes have the same value in a register that nothing writes, such as
    // the padding of a struct.
    std::vector<bool> is_written(shapes_.size(), false);
    for (const Instruction& instruction : kernel_.function->body) {
      for (const uint32_t r : RegistersWritten(instruction)) {
        is_written[r] = true;
      }
    }
    for (size_t r = 0; r < shapes_.size(); ++r) {
      if (!is_written[r]) shapes_[r] = LaneShape{};
    }
    while (Step()) {
    }
    // The remaining registers depend on each other: each is read before its
    // first write.
    for (auto& shape : shapes_) {
      if (!shape.has_value()) shape = LaneShape{};
    }
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
      if (ConvergencePointOf(first) == ConvergencePoint::kBlock &&
          block.next != kExit) {
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

  // A region cannot take part of a loop.
  // If one would have to, no loop becomes scalar: the kernel is left as it is.
  std::vector<int> FindLaneLoops(
      const std::vector<bool>& divergent,
      const std::vector<std::vector<int>>& regions) const {
    const std::vector<int> none(kernel_.blocks.size(), -1);
    std::vector<LaneShape> shapes;
    for (const auto& shape : shapes_)
      shapes.push_back(shape.value_or(LaneShape{}));
    const std::vector<int> loops = ScalarLoops(kernel_, shapes, divergent);
    for (size_t k = 0; k < regions.size(); ++k) {
      for (const int at : regions[k]) {
        if (loops[at] >= 0 && loops[at] != loops[k]) return none;
      }
    }
    return loops;
  }

  // Blocks at whose end the lanes may go different ways.
  std::vector<bool> DivergentBlocks() {
    std::vector<bool> result;
    for (const Block& block : kernel_.blocks) {
      const Instruction& end = kernel_.function->body[block.last - 1];
      const auto guard = ShapeOf(end.guard);
      result.push_back(block.branches &&
                       end.guard.kind != Operand::Kind::kNone &&
                       guard.value_or(LaneShape{}).varying);
    }
    return result;
  }

  // Where lanes that did not run together bring their values of the registers
  // `merged`, such a register is one value per warp only if no lane can see it
  // from another execution of its definition than its own.
  // By register: `definitions` counts writes, a guarded one as two, since a
  // lane that it excludes keeps the old value; `outside` is set if some block
  // reads it before it has written it, so that the value comes from another
  // block or from the last round of a loop; `pure` is left if the result
  // depends on nothing but the operands, so that another execution gives the
  // same.
  //
  // one definition, read only behind it in its block  safe
  // one pure definition, in no loop                   safe
  // anything else                                     forced, if lanes merge
  //
  // Masked code may run a block several times that is in no loop, each time for
  // other lanes (BlocksThatRunOnce). Another execution then gives the same only
  // if nothing that the operands come from is impure, either.
  //
  // `overwrite` is the same question for masked code: with one definition, and
  // no other execution of it, no lane can see what a masked write would have
  // kept.
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
    const bool masked = overwrite != nullptr;
    const std::vector<bool> once =
        masked ? BlocksThatRunOnce(kernel_) : std::vector<bool>();
    const std::vector<bool> data =
        masked ? RegistersFromData(kernel_) : std::vector<bool>();
    for (size_t r = 0; r < count; ++r) {
      const bool cycle = home[r] >= 0 && kernel_.blocks[home[r]].in_cycle;
      const bool again = masked && home[r] >= 0 && !once[home[r]];
      if (masked) {
        (*overwrite)[r] = definitions[r] <= 1 && (!outside[r] || !again);
      }
      const bool other = cycle || !pure[r] || (again && data[r]);
      forced_[r] = merged[r] && (definitions[r] > 1 || (outside[r] && other));
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

  std::optional<LaneShape> ShapeOf(const Operand& operand) {
    switch (operand.kind) {
      case Operand::Kind::kRegister:
        return shapes_[operand.index];
      case Operand::Kind::kSpecial:
        return ShapeOfSpecial(static_cast<Special>(operand.index), block_,
                              mode_, chunk_lanes_);
      case Operand::Kind::kVector:
        return LaneShape::Varying();
      case Operand::Kind::kVariable:
      case Operand::Kind::kLocalVariable:
        if (kernel_.VariableOf(operand).space == ptx::Space::kLocal) {
          return LaneShape{false, true,
                           static_cast<int64_t>(kernel_.local_bytes)};
        }
        return ShapeOfAddress(operand);
      default:
        return LaneShape{};
    }
  }

  // The address of a variable that all lanes share.
  LaneShape ShapeOfAddress(const Operand& operand) {
    const ptx::Variable& variable = kernel_.VariableOf(operand);
    LaneShape shape;
    const uint64_t bits =
        variable.space == ptx::Space::kShared
            ? kernel_.AddressOf(operand)
            : variable.alignment | static_cast<uint64_t>(operand.offset);
    // In a cluster, the bits above those of an offset are the block's.
    constexpr int kMostZeros = 20;
    shape.zeros = std::min(std::countr_zero(bits), kMostZeros);
    return shape;
  }

  // Raises the registers that the instruction writes. Returns whether any of
  // them changed.
  // An operand without a shape yet is bottom: nothing is known, and the
  // instruction waits for a later step. A varying guard makes the result
  // varying, since some lanes keep their old value.
  bool Visit(const Instruction& instruction) {
    const auto written = RegistersWritten(instruction);
    if (written.empty()) return false;
    std::vector<LaneShape> operands;
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      const auto shape = ShapeOf(instruction.operands[i]);
      if (!shape && i >= DestinationCount(instruction)) {
        return false;  // comes in a later step
      }
      operands.push_back(shape.value_or(LaneShape{}));
    }
    LaneShape shape = ResultShape(instruction, operands, mode_, chunk_lanes_);
    if (instruction.guard.kind != Operand::Kind::kNone) {
      const auto guard = ShapeOf(instruction.guard);
      if (!guard) return false;
      if (!guard->uniform()) shape = LaneShape::Varying();
    }
    bool changed = false;
    for (uint32_t r : written) {
      // The bits of an affine integer are no affine float (LaneValues::As).
      const bool is_sum = !shape.varying && shape.stride != 0;
      const bool varies =
          forced_[r] ||
          (is_sum && ptx::IsFloat(kernel_.function->registers[r].type));
      const LaneShape joined = varies ? LaneShape::Varying()
                               : shapes_[r]
                                   ? Join(*shapes_[r], shape, chunk_lanes_)
                                   : shape;
      changed = changed || shapes_[r] != joined;
      shapes_[r] = joined;
    }
    return changed;
  }

  const Kernel& kernel_;
  const BlockShape block_;
  const Mode mode_;
  const int chunk_lanes_;
  std::vector<std::optional<LaneShape>> shapes_;
  std::vector<bool> forced_;
};

}  // namespace

DivergenceAnalysis AnalyzeDivergence(const Kernel& kernel,
                                     const BlockShape& block, Mode mode,
                                     int chunk_lanes) {
  return Analysis(kernel, block, mode, chunk_lanes).Run();
}

}  // namespace holdfast::software::analysis
