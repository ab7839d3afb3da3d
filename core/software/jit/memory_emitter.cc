// SPDX-License-Identifier: Apache-2.0
//
// ld and st choose among three ways for all elements of a lane: whole, where
// other threads must see all or nothing; in groups, where shuffles are cheaper
// than accesses; else element by element.
#include "core/software/jit/memory_emitter.h"

#include <cstddef>

#include "core/software/abi/abi.h"
#include "core/software/abi/shared_memory.h"
#include "core/software/jit/runtime_calls.h"
#include "core/software/jit/spaces.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

std::vector<Operand> Elements(const Operand& operand) {
  if (operand.kind == Operand::Kind::kVector) return operand.elements;
  return {operand};
}

// Other threads may see, or be seen by, this access in the middle of others.
bool IsOrdered(const Instruction& instruction) {
  const auto& words = instruction.modifiers;
  return words.Has(Modifier::kVolatile) || words.Has(Modifier::kRelaxed) ||
         words.Has(Modifier::kAcquire) || words.Has(Modifier::kRelease);
}

// Others see all that a lane stores by it, or nothing, and the other way round:
// on a GPU up to 16 bytes, by which CUB hands on a status with its value. PTX
// promises it for no vector. Older CUB writes .cg where it means .relaxed; as
// others write it for streams, that goes by groups of lanes where it can.
bool IsWhole(const Instruction& instruction, size_t elements) {
  const auto& words = instruction.modifiers;
  const size_t bytes = elements * ptx::BytesOf(instruction.type());
  return bytes <= 16 && (elements > 1 || bytes == 16) &&
         (IsOrdered(instruction) || words.Has(Modifier::kCg) ||
          words.Has(Modifier::kCv) || words.Has(Modifier::kWt));
}

}  // namespace

// The test comes before everything else: if it leaves the kernel, nothing of
// the instruction has happened.
//
// An ordered access is fenced on both sides for the compiler alone: x86 itself
// keeps loads in order with loads, and stores with stores.
void MemoryEmitter::EmitLoad(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const Operand& place = instruction.operands[1];
  const Value address = addresses_.Of(step, place, SpaceOf(instruction));
  addresses_.Check(step, place, SpaceOf(instruction), address);
  prefetcher_.Prefetch(step, place, address, /*write=*/false);
  const std::vector<Operand> elements = Elements(instruction.operands[0]);
  if (IsOrdered(instruction)) b_.CreateCompilerFence();
  const std::vector<Value> loaded =
      LoadElements(step, address, elements.size());
  if (IsOrdered(instruction)) b_.CreateCompilerFence();
  for (size_t i = 0; i < elements.size(); ++i) {
    operands_.Write(step.lanes, elements[i], loaded[i]);
  }
}

// Elements lie side by side at each lane's address: element i is i * bytes
// further on.
std::vector<Value> MemoryEmitter::LoadElements(const Step& step,
                                               const Value& address,
                                               size_t count) const {
  const Type type = step.instruction.type();
  const bool groups = vectors_.InGroups(step, address, type, count);
  if (IsWhole(step.instruction, count) && !step.lanes.alone() &&
      (IsOrdered(step.instruction) || !groups)) {
    return vectors_.LoadWhole(step, address, type, count);
  }
  if (groups) return vectors_.LoadGroups(step, address, type, count);
  std::vector<Value> loaded;
  for (size_t i = 0; i < count; ++i) {
    loaded.push_back(memory_.Load(
        step, v_.Displaced(address, i * ptx::BytesOf(type)), type));
  }
  return loaded;
}

void MemoryEmitter::EmitStore(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const Operand& place = instruction.operands[0];
  const Value address = addresses_.Of(step, place, SpaceOf(instruction));
  addresses_.Check(step, place, SpaceOf(instruction), address);
  prefetcher_.Prefetch(step, place, address, /*write=*/true);
  if (IsOrdered(instruction)) b_.CreateCompilerFence();
  std::vector<Value> stored;
  for (const Operand& element : Elements(instruction.operands[1])) {
    stored.push_back(operands_.Read(step.lanes, element, instruction.type()));
  }
  StoreElements(step, address, stored);
  if (IsOrdered(instruction)) b_.CreateCompilerFence();
}

void MemoryEmitter::StoreElements(const Step& step, const Value& address,
                                  const std::vector<Value>& elements) const {
  const Type type = step.instruction.type();
  const size_t count = elements.size();
  const bool groups = vectors_.InGroups(step, address, type, count);
  if (IsWhole(step.instruction, count) && !step.lanes.alone() &&
      (IsOrdered(step.instruction) || !groups)) {
    return vectors_.StoreWhole(step, address, elements);
  }
  if (groups) return vectors_.StoreGroups(step, address, elements);
  for (size_t i = 0; i < count; ++i) {
    memory_.Store(step, v_.Displaced(address, i * ptx::BytesOf(type)),
                  elements[i]);
  }
}

void MemoryEmitter::EmitSpaceTest(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const Value address =
      operands_.Read(step.lanes, instruction.operands[1], Type::kU64);
  const bool vectors = !address.shape.uniform();
  Value inside{vectors ? LaneShape::Varying() : LaneShape{}, Type::kPred, {}};
  for (int c = 0; c < (vectors ? c_.chunks() : 1); ++c) {
    inside.parts.push_back(
        IsIn(instruction.modifiers.words[0],
             vectors ? v_.Vector(address, c) : address.parts[0]));
  }
  operands_.Write(step.lanes, instruction.operands[0], inside);
}

// i1, or a vector of them. Global is what lies in none of the other spaces.
llvm::Value* MemoryEmitter::IsIn(Modifier space, llvm::Value* address) const {
  switch (space) {
    case Modifier::kShared:
    case Modifier::kSharedCta:
      return IsWithin(address, c_.shared, b_.getInt64(kSharedMemoryBytes));
    case Modifier::kSharedCluster:
      return IsWithin(address, c_.shared_window, ClusterWindowBytes());
    case Modifier::kLocal:
      return IsWithin(
          address, c_.local,
          b_.getInt64(c_.kernel.local_bytes * analysis::kWarpLanes));
    case Modifier::kParam:
    case Modifier::kParamEntry:
      return IsWithin(address,
                      b_.CreatePtrToInt(c_.parameters, b_.getInt64Ty()),
                      b_.getInt64(c_.kernel.parameter_bytes));
    case Modifier::kConst:
      return IsConstant(address);
    default: {
      // By the PTX specification, kernel parameters are in the global window.
      llvm::Value* elsewhere = IsIn(
          c_.kernel.uses_cluster ? Modifier::kSharedCluster : Modifier::kShared,
          address);
      for (const Modifier other : {Modifier::kLocal, Modifier::kConst}) {
        elsewhere = b_.CreateOr(elsewhere, IsIn(other, address));
      }
      return b_.CreateNot(elsewhere);
    }
  }
}

llvm::Value* MemoryEmitter::IsWithin(llvm::Value* address, llvm::Value* base,
                                     llvm::Value* bytes) const {
  if (address->getType()->isVectorTy()) {
    base = b_.Splat(base);
    bytes = b_.Splat(bytes);
  }
  return b_.CreateICmpULT(b_.CreateSub(address, base), bytes);
}

llvm::Value* MemoryEmitter::ClusterWindowBytes() const {
  if (!c_.kernel.uses_cluster) return b_.getInt64(kSharedMemoryBytes);
  const RuntimeCalls runtime(c_);
  llvm::Value* blocks = b_.getInt32(1);
  for (size_t axis = 0; axis < 3; ++axis) {
    blocks = b_.CreateMul(
        blocks, runtime.LoadField(c_.launch,
                                  offsetof(LaunchContext, cluster) + 4 * axis,
                                  b_.getInt32Ty(), /*invariant=*/true));
  }
  llvm::Value* others =
      b_.CreateZExt(b_.CreateSub(blocks, b_.getInt32(1)), b_.getInt64Ty());
  return b_.CreateAdd(b_.CreateMul(others, b_.getInt64(kSharedStrideBytes)),
                      b_.getInt64(kSharedMemoryBytes));
}

// Constant memory has no range of its own: the address is compared with each
// variable.
llvm::Value* MemoryEmitter::IsConstant(llvm::Value* address) const {
  llvm::Value* inside =
      llvm::Constant::getNullValue(b_.Like(address, b_.getInt1Ty()));
  const auto& variables = c_.kernel.module->variables;
  for (uint32_t i = 0; i < variables.size(); ++i) {
    if (variables[i].space != Space::kConst) continue;
    Operand variable;
    variable.kind = Operand::Kind::kVariable;
    variable.index = i;
    inside = b_.CreateOr(inside,
                         IsWithin(address, operands_.VariableAddress(variable),
                                  b_.getInt64(variables[i].bytes)));
  }
  return inside;
}

void MemoryEmitter::EmitFence(const Step& step) const {
  const Instruction& instruction = step.instruction;
  // Stores and loads of a CPU are only ever reordered across a full fence, and
  // warps of a block run on one CPU.
  const auto& words = instruction.modifiers;
  const bool full =
      words.Has(Modifier::kSc) || words.Has(Modifier::kGl) ||
      (instruction.opcode() == Opcode::kMembar && words.Has(Modifier::kSys)) ||
      (instruction.opcode() == Opcode::kFence && !words.Has(Modifier::kCta) &&
       !words.Has(Modifier::kAcquire) && !words.Has(Modifier::kRelease));
  if (full) {
    b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
  } else {
    b_.CreateCompilerFence();
  }
}

}  // namespace holdfast::software::jit
