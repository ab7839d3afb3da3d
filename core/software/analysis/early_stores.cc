// SPDX-License-Identifier: Apache-2.0
//
// Computes two fixed points. The first is which registers differ between warps,
// over all instructions in any order. The second is which basic blocks may
// begin behind a load in which all warps have the same addresses, along the
// edges of the control flow.
#include "core/software/analysis/early_stores.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "core/software/analysis/control_flow.h"

namespace holdfast::software::analysis {
namespace {

using lower::Kernel;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;

// How the values of a register in two warps of a block are related, lane by
// lane; the later includes the earlier.
enum class Between : uint8_t {
  kSame,
  kSameLane,  // the remainder by the number of lanes is the same: %tid.x
  kDifferent,
};

constexpr uint64_t kLaneBits = 31;

bool IsShared(const Instruction& instruction) {
  return instruction.modifiers.Has(Modifier::kShared) ||
         instruction.modifiers.Has(Modifier::kSharedCta);
}

bool IsSharedLoad(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kLd && IsShared(instruction);
}

bool IsSharedStore(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  return (opcode == Opcode::kSt || opcode == Opcode::kAtom ||
          opcode == Opcode::kRed) &&
         IsShared(instruction);
}

Between OfSpecial(uint32_t special) {
  switch (static_cast<ptx::Special>(special)) {
    case ptx::Special::kTidX:
      return Between::kSameLane;
    case ptx::Special::kTidY:
    case ptx::Special::kTidZ:
    case ptx::Special::kWarpid:
    case ptx::Special::kClock:
    case ptx::Special::kClockHi:
    case ptx::Special::kClock64:
    case ptx::Special::kGlobaltimer:
      return Between::kDifferent;
    default:
      return Between::kSame;
  }
}

class Registers {
 public:
  explicit Registers(const Kernel& kernel)
      : between_(kernel.function->registers.size(), Between::kSame) {
    const std::vector<Instruction>& body = kernel.function->body;
    std::vector<std::vector<uint32_t>> readers(between_.size());
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < body.size(); ++i) {
      for (const uint32_t r : lower::RegistersRead(body[i])) {
        readers[r].push_back(i);
      }
      open.push_back(i);
    }
    while (!open.empty()) {
      const Instruction& instruction = body[open.back()];
      open.pop_back();
      const Between result = ResultOf(instruction);
      for (const uint32_t r : lower::RegistersWritten(instruction)) {
        if (between_[r] >= result) continue;
        between_[r] = result;
        open.insert(open.end(), readers[r].begin(), readers[r].end());
      }
    }
  }

  // Returns true if lane i of every warp loads from the same address. The guard
  // of the load does not matter: often only one warp of the block loads.
  bool IsLoadOfAll(const Instruction& load) const {
    const Operand& address = load.operands.back();
    return address.kind != Operand::Kind::kRegister ||
           between_[address.index] == Between::kSame;
  }

 private:
  // The greatest of the operands, guard and addresses included.
  Between OfOperands(const Instruction& instruction) const {
    Between most = Between::kSame;
    for (const uint32_t r : lower::RegistersRead(instruction)) {
      most = std::max(most, between_[r]);
    }
    for (const Operand& operand : instruction.operands) {
      if (operand.kind != Operand::Kind::kSpecial) continue;
      most = std::max(most, OfSpecial(operand.index));
    }
    return most;
  }

  Between ResultOf(const Instruction& instruction) const {
    if (instruction.opcode() == Opcode::kAtom) return Between::kDifferent;
    const Between most = OfOperands(instruction);
    if (most != Between::kSameLane) return most;
    switch (instruction.opcode()) {
      case Opcode::kMov:
      case Opcode::kCvt:
        return most;
      case Opcode::kAnd:
        return KeepsLaneAlone(instruction) ? Between::kSame
                                           : Between::kDifferent;
      default:
        return Between::kDifferent;
    }
  }

  static bool KeepsLaneAlone(const Instruction& instruction) {
    const Operand& mask = instruction.operands.back();
    return mask.kind == Operand::Kind::kInteger && mask.bits <= kLaneBits;
  }

  std::vector<Between> between_;  // by register
};

// Returns whether the end of block `k` may be behind a load of all warps, if
// `behind` says so of its beginning. Marks its stores in `early`, unless null.
bool Follow(const Kernel& kernel, const Registers& registers, size_t k,
            bool behind, std::vector<bool>* early) {
  const lower::Block& block = kernel.blocks[k];
  for (uint32_t i = block.first; i < block.last; ++i) {
    const Instruction& instruction = kernel.function->body[i];
    if (lower::ConvergencePointOf(instruction) ==
        lower::ConvergencePoint::kBlock) {
      behind = false;
    } else if (IsSharedLoad(instruction)) {
      behind = behind || registers.IsLoadOfAll(instruction);
    } else if (behind && early != nullptr && IsSharedStore(instruction)) {
      (*early)[i] = true;
    }
  }
  return behind;
}

}  // namespace

std::vector<bool> EarlyStores(const Kernel& kernel) {
  std::vector<bool> early(kernel.function->body.size(), false);
  if (!kernel.concurrent_warps || !kernel.uses_shared) return early;
  const Registers registers(kernel);
  std::vector<bool> behind(kernel.blocks.size(), false);  // at its beginning
  std::vector<size_t> open(kernel.blocks.size());
  std::iota(open.begin(), open.end(), size_t{0});
  while (!open.empty()) {
    const size_t k = open.back();
    open.pop_back();
    if (!Follow(kernel, registers, k, behind[k], nullptr)) continue;
    for (const int next : Successors(kernel, k)) {
      if (next == lower::kExit || behind[static_cast<size_t>(next)]) continue;
      behind[static_cast<size_t>(next)] = true;
      open.push_back(static_cast<size_t>(next));
    }
  }
  for (size_t k = 0; k < kernel.blocks.size(); ++k) {
    Follow(kernel, registers, k, behind[k], &early);
  }
  return early;
}

}  // namespace holdfast::software::analysis
