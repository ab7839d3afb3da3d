// SPDX-License-Identifier: Apache-2.0
//
// Loads and stores.
//
// The shape of the address decides: uniform, one scalar access; as far apart as
// elements are large, one vector access a chunk; else a gather or scatter
// (emit_gather.cc). Every access is marked with the instruction and the lanes
// that it is for, so that a fault can be traced back (access_site.h), and comes
// behind a test of its address (emit_address_check.cc).
//
// Order: lanes of one instruction take effect in ascending order. Accesses with
// an order or volatile ones stand between fences of the compiler.
#include "core/software/jit/kernel_emitter.h"
#include "core/software/jit/object_writer.h"
#include "core/software/runtime/abi.h"
#include "core/software/runtime/shared_memory.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Operand;
using ptx::Space;
using ptx::Type;
using Kind = AccessSite::Kind;

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

// The state space that the instruction names; generic if it names none.
Space KernelEmitter::SpaceOf(const Instruction& instruction) {
  const auto& words = instruction.modifiers;
  if (words.Has(Modifier::kGlobal)) return Space::kGlobal;
  if (words.Has(Modifier::kConst)) return Space::kConst;
  if (words.Has(Modifier::kShared) || words.Has(Modifier::kSharedCta) ||
      words.Has(Modifier::kSharedCluster)) {
    return Space::kShared;
  }
  if (words.Has(Modifier::kLocal)) return Space::kLocal;
  if (words.Has(Modifier::kParam) || words.Has(Modifier::kParamEntry) ||
      words.Has(Modifier::kParamFunc)) {
    return Space::kParam;
  }
  return Space::kGeneric;
}

llvm::Value* KernelEmitter::Pointer(llvm::Value* address) {
  llvm::Type* pointer = b_.getPtrTy();
  if (address->getType()->isVectorTy()) pointer = b_.VectorOf(pointer);
  return b_.CreateIntToPtr(address, pointer);
}

llvm::Value* KernelEmitter::VariableAddress(const Operand& operand) {
  const Space space = kernel_.VariableOf(operand).space;
  if (operand.kind != Operand::Kind::kVariable ||
      (space != Space::kGlobal && space != Space::kConst)) {
    return b_.getInt64(kernel_.AddressOf(operand));
  }
  llvm::Constant* symbol = b_.module()->getOrInsertGlobal(
      VariableSymbol(operand.index), b_.getInt8Ty());
  return b_.CreateAdd(llvm::ConstantExpr::getPtrToInt(symbol, b_.getInt64Ty()),
                      b_.getInt64(static_cast<uint64_t>(operand.offset)));
}

// A 64-bit address in this process.
Value KernelEmitter::Address(const Operand& operand, Space space) {
  const bool variable = operand.kind == Operand::Kind::kVariable ||
                        operand.kind == Operand::Kind::kLocalVariable;
  Value address = StartOf(operand, space);
  if (variable || operand.offset == 0) return address;
  // The constant comes last, where it becomes part of an access.
  for (llvm::Value*& part : address.parts) {
    llvm::Value* offset = b_.getInt64(static_cast<uint64_t>(operand.offset));
    if (part->getType()->isVectorTy()) offset = b_.Splat(offset);
    part = b_.CreateAdd(part, offset);
  }
  return address;
}

// The same without the offset of a register. Addresses of shared memory are
// offsets that may stand in 32-bit registers. They are sign-extended: a lane
// that is in bounds is then right even if another wraps.
Value KernelEmitter::StartOf(const Operand& operand, Space space) {
  const bool is_register = operand.kind == Operand::Kind::kRegister;
  if (is_register) {
    const auto found = tested_.find(operand.index);
    if (found != tested_.end() && found->second.space == space) {
      return found->second.start;
    }
  }
  Value address;
  if (operand.kind == Operand::Kind::kVariable ||
      operand.kind == Operand::Kind::kLocalVariable) {
    address = OfLane(ReadAddress(operand));
  } else {
    address = Read(operand,
                   is_register ? kernel_.function->registers[operand.index].type
                               : Type::kU64);
    if (ptx::BitsOf(address.type) < 32 || address.type == Type::kF32 ||
        address.type == Type::kF64) {
      address = As(address, Type::kU64);
    }
  }
  llvm::Value* base = space == Space::kParam
                          ? b_.CreatePtrToInt(parameters_, b_.getInt64Ty())
                      : space == Space::kShared ? shared_
                                                : nullptr;
  for (llvm::Value*& part : address.parts) {
    llvm::Type* wide = part->getType()->isVectorTy()
                           ? b_.VectorOf(b_.getInt64Ty())
                           : static_cast<llvm::Type*>(b_.getInt64Ty());
    if (is_register) part = b_.CreateFreeze(part);
    if (space == Space::kShared) {
      llvm::Type* narrow = b_.Like(part, b_.getInt32Ty());
      part = b_.CreateSExt(b_.CreateTrunc(part, narrow), wide);
    } else {
      part = b_.CreateZExtOrTrunc(part, wide);
    }
    if (base != nullptr) {
      part = b_.CreateAdd(
          part, part->getType()->isVectorTy() ? b_.Splat(base) : base);
    }
  }
  address.type = Type::kU64;
  address.shape.zeros = 0;  // as far as is known
  if (is_register && current_->guard.kind == Operand::Kind::kNone) {
    tested_[operand.index] = {address, space};
  }
  return address;
}

// d, [a]; d may be a vector.
void KernelEmitter::EmitLoad(const Instruction& instruction) {
  const Type type = instruction.type();
  const Operand& place = instruction.operands[1];
  const Value address = Address(place, SpaceOf(instruction));
  CheckAddress(place, SpaceOf(instruction), address);
  Prefetch(place, address, /*write=*/false);
  uint64_t offset = 0;
  std::vector<Value> loaded;
  if (IsOrdered(instruction)) CompilerFence();
  const auto elements = Elements(instruction.operands[0]);
  const bool groups = InGroups(address, type, elements.size());
  if (IsWhole(instruction, elements.size()) && lane_ == nullptr &&
      (IsOrdered(instruction) || !groups)) {
    loaded = LoadWhole(address, type, elements.size());
  } else if (groups) {
    loaded = LoadGroups(address, type, elements.size());
  } else {
    for (size_t i = 0; i < elements.size(); ++i) {
      loaded.push_back(LoadFrom(Displaced(address, offset), type));
      offset += ptx::BytesOf(type);
    }
  }
  if (IsOrdered(instruction)) CompilerFence();
  for (size_t i = 0; i < elements.size(); ++i) Write(elements[i], loaded[i]);
}

// [a], b
void KernelEmitter::EmitStore(const Instruction& instruction) {
  const Type type = instruction.type();
  const Operand& place = instruction.operands[0];
  const Value address = Address(place, SpaceOf(instruction));
  CheckAddress(place, SpaceOf(instruction), address);
  Prefetch(place, address, /*write=*/true);
  uint64_t offset = 0;
  if (IsOrdered(instruction)) CompilerFence();
  std::vector<Value> stored;
  for (const Operand& element : Elements(instruction.operands[1])) {
    stored.push_back(Read(element, type));
  }
  const bool groups = InGroups(address, type, stored.size());
  if (IsWhole(instruction, stored.size()) && lane_ == nullptr &&
      (IsOrdered(instruction) || !groups)) {
    StoreWhole(address, stored);
  } else if (groups) {
    StoreGroups(address, stored);
  } else {
    for (const Value& element : stored) {
      StoreTo(Displaced(address, offset), element);
      offset += ptx::BytesOf(type);
    }
  }
  if (IsOrdered(instruction)) CompilerFence();
}

// p, a: does a generic address lie in the space?
void KernelEmitter::EmitSpaceTest(const Instruction& instruction) {
  const Value address = Read(instruction.operands[1], Type::kU64);
  const bool vectors = !address.shape.uniform();
  Value inside{vectors ? LaneShape::Varying() : LaneShape{}, Type::kPred, {}};
  for (int c = 0; c < (vectors ? chunks_ : 1); ++c) {
    inside.parts.push_back(
        IsIn(instruction.modifiers.words[0],
             vectors ? Vector(address, c) : address.parts[0]));
  }
  Write(instruction.operands[0], inside);
}

// i1, or a vector of them. Global is what lies in none of the other spaces.
llvm::Value* KernelEmitter::IsIn(Modifier space, llvm::Value* address) {
  llvm::Type* wide = b_.Like(address, b_.getInt64Ty());
  const auto within = [&](llvm::Value* base, uint64_t bytes) -> llvm::Value* {
    if (wide->isVectorTy()) base = b_.Splat(base);
    return b_.CreateICmpULT(b_.CreateSub(address, base),
                            llvm::ConstantInt::get(wide, bytes));
  };
  switch (space) {
    case Modifier::kShared:
    case Modifier::kSharedCta:
    case Modifier::kSharedCluster:
      return within(shared_, kSharedMemoryBytes);
    case Modifier::kLocal:
      return within(local_, kernel_.local_bytes * analysis::kWarpLanes);
    case Modifier::kParam:
    case Modifier::kParamEntry:
      return within(b_.CreatePtrToInt(parameters_, b_.getInt64Ty()),
                    kernel_.parameter_bytes);
    case Modifier::kConst: {
      llvm::Value* inside =
          llvm::Constant::getNullValue(b_.Like(address, b_.getInt1Ty()));
      const auto& variables = kernel_.module->variables;
      for (uint32_t i = 0; i < variables.size(); ++i) {
        if (variables[i].space != Space::kConst) continue;
        Operand variable;
        variable.kind = Operand::Kind::kVariable;
        variable.index = i;
        inside = b_.CreateOr(
            inside, within(VariableAddress(variable), variables[i].bytes));
      }
      return inside;
    }
    default: {
      // By the PTX specification, kernel parameters are in the global window.
      llvm::Value* elsewhere = IsIn(Modifier::kShared, address);
      for (const Modifier other : {Modifier::kLocal, Modifier::kConst}) {
        elsewhere = b_.CreateOr(elsewhere, IsIn(other, address));
      }
      return b_.CreateNot(elsewhere);
    }
  }
}

// An address that is good to read in any case, if the real one is not wanted.
llvm::Value* KernelEmitter::SafeAddress(llvm::Value* address,
                                        llvm::Value* wanted) {
  return b_.CreateSelect(wanted, address,
                         b_.CreatePtrToInt(parameters_, b_.getInt64Ty()));
}

template <typename T>
T* KernelEmitter::Mark(T* access, Kind kind, int lane, bool masked,
                       int elements) {
  AccessSite site;
  site.instruction =
      static_cast<uint32_t>(current_ - kernel_.function->body.data());
  site.kind = kind;
  site.masked = masked;
  site.lane = static_cast<uint8_t>(lane);
  // Copies have no type, but go by words.
  site.bytes =
      static_cast<uint8_t>(current_->modifiers.type_count == 0
                               ? 4
                               : elements * ptx::BytesOf(current_->type()));
  Describe(access, site);
  return access;
}
template llvm::LoadInst* KernelEmitter::Mark(llvm::LoadInst*, Kind, int, bool,
                                             int);
template llvm::StoreInst* KernelEmitter::Mark(llvm::StoreInst*, Kind, int, bool,
                                              int);
template llvm::CallInst* KernelEmitter::Mark(llvm::CallInst*, Kind, int, bool,
                                             int);
template llvm::AtomicRMWInst* KernelEmitter::Mark(llvm::AtomicRMWInst*, Kind,
                                                  int, bool, int);
template llvm::AtomicCmpXchgInst* KernelEmitter::Mark(llvm::AtomicCmpXchgInst*,
                                                      Kind, int, bool, int);

// For the report of a fault: the lanes that an access is for.
void KernelEmitter::NoteLanes(llvm::Value* bits) {
  b_.CreateStore(bits,
                 b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), worker_,
                                               offsetof(WorkerContext, lanes)));
}

// The same: what calls the runtime.
void KernelEmitter::NoteInstruction() {
  b_.CreateStore(
      b_.I32(static_cast<uint32_t>(current_ - kernel_.function->body.data())),
      b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), worker_,
                                    offsetof(WorkerContext, instruction)));
}

// One element a lane. Lanes that do not run get any value: Write drops it.
Value KernelEmitter::LoadFrom(const Value& address, Type type) {
  llvm::Type* element = b_.TypeOf(type);
  const llvm::Align align(ptx::BytesOf(type));
  llvm::Value* bits = LaneMask();
  if (address.shape.chunk_uniform()) {
    Value result{address.shape, type, {}};
    if (bits != nullptr) NoteLanes(bits);
    for (size_t c = 0; c < address.parts.size(); ++c) {
      llvm::Value* from = address.parts[c];
      if (bits != nullptr) {
        llvm::Value* active = bits;
        if (!address.shape.wide) {
          const uint32_t chunk = lanes_ == 16 ? 0xFFFF : 0xFF;
          active = b_.CreateAnd(bits, b_.I32(chunk << (c * lanes_)));
        }
        from = SafeAddress(from, b_.CreateICmpNE(active, b_.I32(0)));
      }
      result.parts.push_back(Mark(
          b_.CreateAlignedLoad(element, Pointer(from), align), Kind::kSame,
          static_cast<int>(c) * lanes_, bits != nullptr || lane_ != nullptr));
    }
    return result;
  }
  if (!address.shape.varying && address.shape.stride != ptx::BytesOf(type) &&
      bits == nullptr) {
    return GatherStrided(address, type);
  }
  if (address.shape.varying || address.shape.stride != ptx::BytesOf(type)) {
    return Gather(address, type, bits);
  }
  Value result{LaneShape::Varying(), type, {}};
  if (bits != nullptr) NoteLanes(bits);
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* from = Pointer(Base(address, c));
    if (bits == nullptr) {
      result.parts.push_back(
          Mark(b_.CreateAlignedLoad(b_.VectorOf(element), from, align),
               Kind::kLanes, c * lanes_, false));
    } else {
      result.parts.push_back(
          Mark(b_.CreateMaskedLoad(b_.VectorOf(element), from, align,
                                   ChunkMask(bits, c)),
               Kind::kLanes, c * lanes_, true));
    }
  }
  return result;
}

// One element a lane. Where lanes store to one place, the highest stays, in all
// of these ways.
void KernelEmitter::StoreTo(const Value& address, const Value& value) {
  const llvm::Align align(ptx::BytesOf(value.type));
  llvm::Value* bits = LaneMask();
  if (address.shape.uniform()) return StoreUniform(address, value, bits);
  if (address.shape.varying ||
      address.shape.stride != ptx::BytesOf(value.type)) {
    return bits == nullptr ? ScatterAll(address, value)
                           : Scatter(address, value, bits);
  }
  if (bits != nullptr && cpu_.slow_masked_stores) {
    return Scatter(address, value, bits);
  }
  if (bits != nullptr) NoteLanes(bits);
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* to = Pointer(Base(address, c));
    llvm::Value* part = Vector(value, c);
    if (bits == nullptr) {
      Mark(b_.CreateAlignedStore(part, to, align), Kind::kLanes, c * lanes_,
           false);
    } else {
      Mark(b_.CreateMaskedStore(part, to, align, ChunkMask(bits, c)),
           Kind::kLanes, c * lanes_, true);
    }
  }
}

// All lanes store to one place: the highest active lane stays.
void KernelEmitter::StoreUniform(const Value& address, const Value& value,
                                 llvm::Value* bits) {
  const llvm::Align align(ptx::BytesOf(value.type));
  auto* store = b_.NewBlock("store");
  auto* after = b_.NewBlock("stored");
  if (bits == nullptr) bits = b_.I32(~0u);
  b_.CreateCondBr(b_.CreateICmpNE(bits, b_.I32(0)), store, after);
  b_.SetInsertPoint(store);
  NoteLanes(bits);
  llvm::Value* scalar = value.parts[0];
  if (!value.shape.uniform()) {
    llvm::Value* lane = b_.CreateSub(
        b_.I32(31),
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, bits, b_.getTrue()));
    llvm::AllocaInst* values = Spill(Reshape(value, LaneShape::Varying()));
    llvm::Type* element = b_.TypeOf(value.type);
    scalar = b_.CreateLoad(element, b_.CreateGEP(element, values, lane));
  }
  Mark(b_.CreateAlignedStore(scalar, Pointer(address.parts[0]), align),
       Kind::kSame, 0, true);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

}  // namespace holdfast::software::jit
