// SPDX-License-Identifier: Apache-2.0
//
// The order of members is the order of construction: each emitter keeps
// references to those in front of it. Hints that change no result, such as
// prefetch and applypriority, emit nothing.
#include "core/software/jit/instruction_emitter.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Opcode;
using ptx::Type;

InstructionEmitter::InstructionEmitter(const EmitContext& context,
                                       Registers& registers, BlockNotes& notes)
    : b_(context.b),
      v_(context.b),
      notes_(notes),
      operands_(context, registers),
      addresses_(context, operands_, notes),
      access_(context, addresses_),
      memory_(context, operands_, addresses_, access_, notes),
      atomics_(context, operands_, addresses_),
      warp_(context, operands_),
      async_(context, operands_, addresses_, access_, notes),
      bulk_(context, operands_, addresses_, async_),
      calls_(context, operands_),
      matrices_(context, operands_, addresses_, access_),
      tiles_(context, operands_, addresses_),
      arithmetic_(context, operands_) {}

// A uniform guard is a branch around the instruction. A varying one narrows the
// lanes, and the family decides what that means: a mask for a memory access, a
// selection for a result. Predicates written under a branch are forgotten
// behind it, where control comes from in front of it as well.
void InstructionEmitter::Emit(const Step& step) {
  if (!step.guarded()) return EmitUnguarded(step);
  const Value guard =
      operands_.Read(step.lanes, step.instruction.guard, Type::kPred);
  if (guard.shape.varying) {
    Step guarded = step;
    guarded.lanes.guard = v_.BitsOfPredicate(guard);
    return EmitUnguarded(guarded);
  }
  auto* then = b_.NewBlock("then");
  auto* join = b_.NewBlock("join");
  b_.CreateCondBr(guard.parts[0], then, join);
  b_.SetInsertPoint(then);
  EmitUnguarded(step);
  notes_.predicates.clear();
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
}

void InstructionEmitter::EmitUnguarded(const Step& step) {
  const Instruction& instruction = step.instruction;
  calls_.LetOthersRead(step);
  switch (instruction.opcode()) {
    case Opcode::kLd:
    case Opcode::kLdu:
      return memory_.EmitLoad(step);
    case Opcode::kSt:
      memory_.EmitStore(step);
      break;
    case Opcode::kAtom:
    case Opcode::kRed:
      atomics_.Emit(step);
      break;
    case Opcode::kCall:
      return calls_.EmitCall(step);
    case Opcode::kShfl:
      return warp_.EmitShuffle(step);
    case Opcode::kVote:
      return warp_.EmitVote(step);
    case Opcode::kMatch:
      return warp_.EmitMatch(step);
    case Opcode::kRedux:
      return warp_.EmitRedux(step);
    case Opcode::kElect:
      return warp_.EmitElect(step);
    case Opcode::kLdmatrix:
      return matrices_.EmitLoad(step);
    case Opcode::kStmatrix:
      return matrices_.EmitStore(step);
    case Opcode::kMovmatrix:
      return matrices_.EmitTranspose(step);
    case Opcode::kMma:
      return matrices_.EmitProduct(step);
    case Opcode::kWmma:
      return tiles_.Emit(step);
    case Opcode::kActivemask:
      return warp_.EmitActivemask(step);
    case Opcode::kMembar:
    case Opcode::kFence:
      return memory_.EmitFence(step);
    case Opcode::kTrap:
    case Opcode::kBrkpt:
      return calls_.EmitTrap(step);
    case Opcode::kNanosleep:
      return calls_.EmitYield();
    case Opcode::kCp:
      return instruction.modifiers.Has(ptx::Modifier::kBulk)
                 ? bulk_.Emit(step)
                 : async_.EmitCopy(step);
    case Opcode::kMbarrier:
      return async_.EmitMbarrier(step);
    case Opcode::kIsspacep:
      return memory_.EmitSpaceTest(step);
    case Opcode::kCreatepolicy:
      return operands_.Write(step.lanes, instruction.operands[0],
                             v_.Uniform(Type::kB64, b_.getInt64(0)));
    case Opcode::kApplypriority:
    case Opcode::kDiscard:
    case Opcode::kGriddepcontrol:
    case Opcode::kPrefetch:
    case Opcode::kPrefetchu:
    case Opcode::kPmevent:
    case Opcode::kSetmaxnreg:
      return;  // hints
    default:
      return arithmetic_.Emit(step);
  }
  if (instruction.modifiers.Has(ptx::Modifier::kAsync)) {
    async_.EmitCompletion(step);
  }
}

}  // namespace holdfast::software::jit
