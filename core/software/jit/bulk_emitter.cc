// SPDX-License-Identifier: Apache-2.0
//
// One thread moves many bytes, so vectors of lanes gain nothing: one call of
// the runtime copies lane by lane. Code tests the first address of each side,
// with its alignment; the runtime tests the whole ranges.
#include "core/software/jit/bulk_emitter.h"

#include <utility>

#include "core/software/abi/abi.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

constexpr std::pair<Modifier, Space> kSpaces[] = {
    {Modifier::kGlobal, Space::kGlobal},
    {Modifier::kSharedCta, Space::kShared},
    {Modifier::kSharedCluster, Space::kSharedCluster},
};

constexpr std::pair<Modifier, BulkOperation> kOperations[] = {
    {Modifier::kAdd, BulkOperation::kAdd},
    {Modifier::kMin, BulkOperation::kMin},
    {Modifier::kMax, BulkOperation::kMax},
    {Modifier::kInc, BulkOperation::kInc},
    {Modifier::kDec, BulkOperation::kDec},
    {Modifier::kAnd, BulkOperation::kAnd},
    {Modifier::kOr, BulkOperation::kOr},
    {Modifier::kXor, BulkOperation::kXor},
};

// The spaces that a copy names: where it goes, and where it comes from.
struct Route {
  Space to = Space::kGeneric;
  Space from = Space::kGeneric;
};

Route RouteOf(const Instruction& instruction) {
  Route route;
  bool named = false;
  for (const Modifier word : instruction.modifiers.words) {
    for (const auto& [name, space] : kSpaces) {
      if (word == name)
        (std::exchange(named, true) ? route.from : route.to) = space;
    }
  }
  return route;
}

BulkOperation OperationOf(const Instruction& instruction) {
  for (const auto& [word, operation] : kOperations) {
    if (instruction.modifiers.Has(word)) return operation;
  }
  return BulkOperation::kMove;
}

}  // namespace

Value BulkEmitter::CheckedAddress(const Step& step, const Operand& operand,
                                  Space space) const {
  const Value address = addresses_.Of(step, operand, space);
  addresses_.Check(step, operand, space, address);
  return address;
}

void BulkEmitter::Emit(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const auto& operands = instruction.operands;
  if (operands.size() < 2) return b_.CreateCompilerFence();
  if (instruction.modifiers.Has(Modifier::kPrefetch)) return;
  const Route route = RouteOf(instruction);
  const Value to = CheckedAddress(step, operands[0], route.to);
  const Value from = CheckedAddress(step, operands[1], route.from);
  const Value bytes =
      v_.As(operands_.Read(step.lanes, operands[2], Type::kU32), Type::kU64);
  runtime_.CallForLanes(
      step, "holdfast_bulk_copy",
      {b_.I32(static_cast<uint32_t>(OperationOf(instruction))),
       b_.I32(static_cast<uint32_t>(instruction.type()))},
      {to, from, bytes});
  if (instruction.modifiers.Has(Modifier::kCompleteTxBytes)) {
    async_.EmitCompletion(step, operands[3], route.to, bytes);
  }
}

}  // namespace holdfast::software::jit
