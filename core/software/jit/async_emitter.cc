// SPDX-License-Identifier: Apache-2.0
//
// cp.async moves words of four bytes, each by an ordinary load and store of all
// lanes. A copy may have fewer valid source bytes than it writes: the rest are
// zeros, and lanes without any valid byte may have any source address, so that
// these lanes are left out of the test of addresses.
#include "core/software/jit/async_emitter.h"

#include "core/software/abi/abi.h"
#include "core/software/jit/spaces.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

constexpr int kPieceBytes = 4;

MbarrierOperation OperationOf(const Instruction& instruction) {
  const auto& words = instruction.modifiers;
  const bool parity = words.Has(Modifier::kParity);
  if (words.Has(Modifier::kInit)) return MbarrierOperation::kInit;
  if (words.Has(Modifier::kArrive)) return MbarrierOperation::kArrive;
  if (words.Has(Modifier::kArriveDrop)) return MbarrierOperation::kDrop;
  if (words.Has(Modifier::kExpectTx)) return MbarrierOperation::kExpect;
  if (words.Has(Modifier::kCompleteTx)) return MbarrierOperation::kComplete;
  if (words.Has(Modifier::kTestWait)) {
    return parity ? MbarrierOperation::kTestParity : MbarrierOperation::kTest;
  }
  if (words.Has(Modifier::kTryWait)) {
    return parity ? MbarrierOperation::kTryParity : MbarrierOperation::kTry;
  }
  return MbarrierOperation::kPendingCount;
}

}  // namespace

// The copy is done when the instruction is: commit_group and wait_group emit
// nothing but a fence for the compiler.
void AsyncEmitter::EmitCopy(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const auto& operands = instruction.operands;
  const auto& words = instruction.modifiers;
  if (words.Has(Modifier::kMbarrier)) {
    // Without noinc the copies add an arrival of their own, and make it.
    if (words.Has(Modifier::kNoinc)) EmitMbarrier(step);
    return;
  }
  if (operands.size() < 2) return b_.CreateCompilerFence();
  const uint64_t bytes = operands[2].bits;
  const bool good =
      bytes == 16 || (words.Has(Modifier::kCa) && (bytes == 4 || bytes == 8));
  if (!good) return c_.Fail(instruction, "cp.async copies 4, 8 or 16 bytes");
  const size_t given =
      operands.size() - (words.Has(Modifier::kL2CacheHint) ? 1 : 0);
  std::optional<Value> valid;
  if (given > 3) valid = ValidBytes(step, operands[3], static_cast<int>(bytes));
  const Value from = addresses_.Of(step, operands[1], Space::kGlobal);
  const Value to = addresses_.Of(step, operands[0], Space::kShared);
  CheckSource(step, operands[1], from, valid);
  addresses_.Check(step, operands[0], Space::kShared, to);
  std::vector<Value> pieces;
  for (size_t at = 0; at < bytes; at += kPieceBytes) {
    const Value piece = v_.Displaced(from, at);
    pieces.push_back(
        valid ? LoadValid(step, piece, *valid, static_cast<uint32_t>(at))
              : memory_.Load(step, piece, Type::kB32));
  }
  for (size_t at = 0; at < bytes; at += kPieceBytes) {
    memory_.Store(step, v_.Displaced(to, at), pieces[at / kPieceBytes]);
  }
}

// Lanes that copy nothing may have any address.
void AsyncEmitter::CheckSource(const Step& step, const Operand& operand,
                               const Value& from,
                               const std::optional<Value>& valid) const {
  if (!valid) return addresses_.Check(step, operand, Space::kGlobal, from);
  Step wanted = step;
  wanted.lanes =
      step.lanes.Guarded(b_, v_.BitsOfPredicate(WantedFrom(*valid, 0)));
  addresses_.Check(wanted, operand, Space::kGlobal, from);
  if (operand.kind == Operand::Kind::kRegister)
    notes_.tested.erase(operand.index);
}

// By lane: whether byte `at` of a copy is among the `valid` ones.
Value AsyncEmitter::WantedFrom(const Value& valid, uint32_t at) const {
  Value wanted{LaneShape::Varying(), Type::kPred, {}};
  for (llvm::Value* part : valid.parts) {
    wanted.parts.push_back(b_.CreateICmpUGT(part, b_.Splat(b_.I32(at))));
  }
  return wanted;
}

// Returns how many of a copy's bytes come from the source; zeros follow.
Value AsyncEmitter::ValidBytes(const Step& step, const Operand& operand,
                               int bytes) const {
  const bool predicate = operand.kind == Operand::Kind::kRegister &&
                         c_.TypeOf(operand.index) == Type::kPred;
  if (!predicate)
    return v_.Reshape(operands_.Read(step.lanes, operand, Type::kU32),
                      LaneShape::Varying());
  // One that holds: none.
  const Value ignore = v_.Reshape(
      operands_.Read(step.lanes, operand, Type::kPred), LaneShape::Varying());
  Value valid{LaneShape::Varying(), Type::kU32, {}};
  for (llvm::Value* part : ignore.parts) {
    valid.parts.push_back(
        b_.CreateSelect(part, b_.Splat(b_.I32(0)),
                        b_.Splat(b_.I32(static_cast<uint32_t>(bytes)))));
  }
  return valid;
}

// The four bytes `at` of a copy of which `valid` bytes are read.
// `left` bytes of the piece are valid: all four, or so many low ones, which a
// mask of 8 * left ones keeps.
Value AsyncEmitter::LoadValid(const Step& step, const Value& from,
                              const Value& valid, uint32_t at) const {
  const Value wanted = WantedFrom(valid, at);
  llvm::Value* offset = b_.Splat(b_.I32(at));
  Step narrowed = step;
  narrowed.lanes = step.lanes.Guarded(b_, v_.BitsOfPredicate(wanted));
  Value loaded = v_.Reshape(memory_.Load(narrowed, from, Type::kB32),
                            LaneShape::Varying());
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* left = b_.CreateSub(valid.parts[c], offset);
    llvm::Value* all = b_.CreateICmpUGE(left, b_.Splat(b_.I32(kPieceBytes)));
    llvm::Value* shift = b_.CreateAnd(b_.CreateShl(left, b_.Splat(b_.I32(3))),
                                      b_.Splat(b_.I32(31)));
    llvm::Value* some = b_.CreateSub(b_.CreateShl(b_.Splat(b_.I32(1)), shift),
                                     b_.Splat(b_.I32(1)));
    llvm::Value* keep = b_.CreateSelect(all, b_.Splat(b_.I32(~0u)), some);
    loaded.parts[c] =
        b_.CreateSelect(wanted.parts[c], b_.CreateAnd(loaded.parts[c], keep),
                        b_.Splat(b_.I32(0)));
  }
  return loaded;
}

// st.async and red.async are done when they are issued.
void AsyncEmitter::EmitCompletion(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const auto bytes = static_cast<uint64_t>(lower::AccessBytes(instruction));
  EmitCompletion(step, instruction.operands[2], SpaceOf(instruction),
                 v_.Uniform(Type::kU64, b_.getInt64(bytes)));
}

void AsyncEmitter::EmitCompletion(const Step& step, const Operand& operand,
                                  Space space, const Value& bytes) const {
  const Value barrier = addresses_.Of(step, operand, space);
  const auto operation = static_cast<uint32_t>(MbarrierOperation::kComplete);
  runtime_.CallForLanes(
      step, "holdfast_mbarrier", {b_.I32(operation)},
      {barrier, bytes, v_.Uniform(Type::kU64, b_.getInt64(0))});
}

// An mbarrier is 64 bits of shared memory that only the runtime understands:
// one call for the warp, with an array each of addresses, counts and
// transactions, runs the operation lane by lane.
void AsyncEmitter::EmitMbarrier(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const auto& operands = instruction.operands;
  const auto& words = instruction.modifiers;
  if (words.Has(Modifier::kInval)) return;
  const size_t at = lower::DestinationCount(instruction);
  const MbarrierOperation operation = OperationOf(instruction);
  const bool has_place = operation != MbarrierOperation::kPendingCount;
  Value address = v_.Uniform(Type::kU64, b_.getInt64(0));
  Value first = v_.Uniform(Type::kU64, b_.getInt64(1));
  Value second = v_.Uniform(Type::kU64, b_.getInt64(0));
  if (has_place) {
    address = addresses_.Of(step, operands[at], SpaceOf(instruction));
    addresses_.Check(step, operands[at], SpaceOf(instruction), address);
  }
  const size_t value = has_place ? at + 1 : at;
  if (operands.size() > value) {
    const Value read = v_.As(operands_.Read(step.lanes, operands[value],
                                            operands_.TypeOf(operands[value])),
                             Type::kU64);
    const bool arrives = operation == MbarrierOperation::kArrive ||
                         operation == MbarrierOperation::kDrop;
    (arrives && words.Has(Modifier::kExpectTx) ? second : first) = read;
  }
  llvm::AllocaInst* results = runtime_.CallForLanes(
      step, "holdfast_mbarrier", {b_.I32(static_cast<uint32_t>(operation))},
      {address, first, second});
  if (at == 0) return;
  Value result = arrays_.LoadLanes(results, Type::kU64);
  if (words.Has(Modifier::kTestWait) || words.Has(Modifier::kTryWait)) {
    result.type = Type::kPred;
    for (llvm::Value*& part : result.parts) {
      part =
          b_.CreateICmpNE(part, llvm::Constant::getNullValue(part->getType()));
    }
  }
  operands_.Write(step.lanes, operands[0], result);
}

}  // namespace holdfast::software::jit
