// SPDX-License-Identifier: Apache-2.0
//
// Blocks end at branches and at labels. An instruction at which lanes wait for
// each other is a block of its own, so that masked code can set lanes aside in
// front of it and let them go on behind it.
#include "core/software/transform/lower_kernel.h"

#include <algorithm>

#include "core/software/analysis/control_flow.h"

namespace holdfast::software::lower {
namespace {

using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;

bool EndsBlock(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kBra ||
         instruction.opcode() == Opcode::kRet ||
         instruction.opcode() == Opcode::kExit;
}

// Two passes over the body: where blocks start, then the blocks with their
// targets. Blocks keep the order of the text, which masked code relies on:
// lanes that are behind run first.
void SplitBlocks(Kernel* kernel) {
  const auto& body = kernel->function->body;
  std::vector<bool> starts(body.size() + 1, false);
  starts[0] = true;
  for (const auto& label : kernel->function->labels) {
    starts[label.instruction] = true;
  }
  for (size_t i = 0; i < body.size(); ++i) {
    if (EndsBlock(body[i])) starts[i + 1] = true;
    if (ConvergencePointOf(body[i]) != ConvergencePoint::kNone)
      starts[i] = starts[i + 1] = true;
  }
  std::vector<int> block_at(body.size() + 1, kExit);
  for (size_t i = 0; i < body.size(); ++i) {
    if (starts[i]) {
      kernel->blocks.push_back({static_cast<uint32_t>(i)});
    }
    kernel->blocks.back().last = static_cast<uint32_t>(i + 1);
    block_at[i] = static_cast<int>(kernel->blocks.size()) - 1;
  }
  for (size_t k = 0; k < kernel->blocks.size(); ++k) {
    Block& block = kernel->blocks[k];
    const Instruction& end = body[block.last - 1];
    block.branches = EndsBlock(end);
    block.next =
        k + 1 < kernel->blocks.size() ? static_cast<int>(k) + 1 : kExit;
    if (end.opcode() == Opcode::kBra) {
      const auto& label = kernel->function->labels[end.operands[0].index];
      block.taken = block_at[label.instruction];
    }
  }
}

// Whether a loop with this may be waiting for another thread to act.
// Such a loop has to let others run: warps of a block share one thread, and
// lanes of a warp one stream of instructions.
bool WaitsForOthers(const Instruction& instruction,
                    const std::vector<bool>& read) {
  const ptx::Modifiers& words = instruction.modifiers;
  switch (instruction.opcode()) {
    case Opcode::kAtom:
      // Compilers write atom also where the old value is not used.
      for (const uint32_t r : RegistersWritten(instruction)) {
        if (read[r]) return true;
      }
      return false;
    case Opcode::kNanosleep:
    case Opcode::kMbarrier:
      return true;
    case Opcode::kLd:
      return words.Has(ptx::Modifier::kVolatile) ||
             words.Has(ptx::Modifier::kRelaxed) ||
             words.Has(ptx::Modifier::kAcquire);
    default:
      return false;
  }
}

void FindLoops(Kernel* kernel) {
  const auto& function = *kernel->function;
  std::vector<bool> read(function.registers.size(), false);
  for (const Instruction& instruction : function.body) {
    for (const uint32_t r : RegistersRead(instruction)) read[r] = true;
  }
  const std::vector<int> loop = analysis::Loops(*kernel);
  std::vector<bool> spins(kernel->blocks.size(), false);  // by loop
  for (size_t k = 0; k < kernel->blocks.size(); ++k) {
    Block& block = kernel->blocks[k];
    block.in_cycle = loop[k] >= 0;
    for (uint32_t i = block.first; block.in_cycle && i < block.last; ++i) {
      if (WaitsForOthers(function.body[i], read)) spins[loop[k]] = true;
    }
  }
  for (size_t k = 0; k < kernel->blocks.size(); ++k) {
    kernel->blocks[k].may_spin = loop[k] >= 0 && spins[loop[k]];
  }
}

uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Parameters and local variables.
void LayOutVariables(Kernel* kernel) {
  for (const ptx::Variable& variable : kernel->function->variables) {
    uint64_t* end = variable.space == ptx::Space::kParam
                        ? &kernel->parameter_bytes
                        : &kernel->local_bytes;
    const uint64_t offset = AlignUp(*end, variable.alignment);
    kernel->variable_offsets.push_back(offset);
    // A variable that became registers has no place in memory.
    if (variable.space != ptx::Space::kRegister) *end = offset + variable.bytes;
  }
  // A lane's variables begin where those of the one before end.
  kernel->local_bytes = AlignUp(kernel->local_bytes, 16);
}

void CollectVariables(const Operand& operand, std::vector<bool>* named) {
  if (operand.kind == Operand::Kind::kVariable) (*named)[operand.index] = true;
  for (const Operand& element : operand.elements) {
    CollectVariables(element, named);
  }
}

// Dynamic shared memory begins behind the static, so aligned.
constexpr uint64_t kDynamicSharedAlignment = 16;

// A kernel has only the shared variables that it or a function of its names.
// Returns true if there are any.
bool LayOutShared(Kernel* kernel) {
  const std::vector<ptx::Variable>& variables = kernel->module->variables;
  std::vector<bool> named(variables.size(), false);
  for (const Instruction& instruction : kernel->function->body) {
    for (const Operand& operand : instruction.operands) {
      CollectVariables(operand, &named);
    }
  }
  bool any = false;
  uint64_t end = 0, alignment = kDynamicSharedAlignment;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].space != ptx::Space::kShared || !named[i]) continue;
    any = true;
    if (variables[i].IsDynamicShared()) {
      alignment = std::max<uint64_t>(alignment, variables[i].alignment);
      continue;
    }
    kernel->addresses[i] = AlignUp(end, variables[i].alignment);
    end = kernel->addresses[i] + variables[i].bytes;
  }
  kernel->static_shared_bytes = end;
  kernel->dynamic_shared_begin = AlignUp(end, alignment);
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].IsDynamicShared()) {
      kernel->addresses[i] = kernel->dynamic_shared_begin;
    }
  }
  return any;
}

// Without such an instruction or a variable no address of shared memory can
// come about.
bool AccessesShared(const Instruction& instruction) {
  const ptx::Modifiers& words = instruction.modifiers;
  return words.Has(ptx::Modifier::kShared) ||
         words.Has(ptx::Modifier::kSharedCta) ||
         words.Has(ptx::Modifier::kSharedCluster);
}

bool UsesCluster(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kMapa ||
         instruction.opcode() == Opcode::kGetctarank ||
         instruction.modifiers.Has(ptx::Modifier::kSharedCluster);
}

bool UsesReservedShared(const Instruction& instruction) {
  return std::any_of(
      instruction.operands.begin(), instruction.operands.end(),
      [](const Operand& operand) {
        const auto special = static_cast<ptx::Special>(operand.index);
        return operand.kind == Operand::Kind::kSpecial &&
               special >= ptx::Special::kReservedSmemOffsetBegin &&
               special <= ptx::Special::kReservedSmemOffset1;
      });
}

}  // namespace

Kernel LowerKernel(const ptx::Module& module, const ptx::Function& function,
                   const std::vector<uint64_t>& addresses) {
  Kernel kernel;
  kernel.module = &module;
  kernel.function = &function;
  kernel.addresses = addresses;
  kernel.addresses.resize(module.variables.size());
  SplitBlocks(&kernel);
  FindLoops(&kernel);
  for (const Block& block : kernel.blocks) {
    const Instruction& end = function.body[block.last - 1];
    kernel.may_spin = kernel.may_spin || block.may_spin;
    kernel.concurrent_warps =
        kernel.concurrent_warps || block.may_spin ||
        ConvergencePointOf(end) == ConvergencePoint::kBlock;
  }
  LayOutVariables(&kernel);
  const bool names_shared = LayOutShared(&kernel);
  kernel.uses_shared =
      names_shared ||
      std::any_of(function.body.begin(), function.body.end(), AccessesShared);
  kernel.uses_reserved_shared = std::any_of(
      function.body.begin(), function.body.end(), UsesReservedShared);
  kernel.uses_cluster =
      std::any_of(function.body.begin(), function.body.end(), UsesCluster);
  return kernel;
}

}  // namespace holdfast::software::lower
