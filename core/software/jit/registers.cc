// SPDX-License-Identifier: Apache-2.0
//
// A register has storage only once something asks for it, so that registers
// which optimisation has made useless cost nothing. A part of it is a scalar or
// a vector, as its shape says; a varying predicate is one i32 with a bit a
// lane.
#include "core/software/jit/registers.h"

#include "absl/strings/str_cat.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Type;

namespace {

// Whether a register of shape `holder` can hold a value of shape `value`.
bool Fits(const LaneShape& value, const LaneShape& holder) {
  return holder.varying || (!value.varying && value.stride == holder.stride &&
                            (value.wide || !holder.wide));
}

// Analysis and emitter disagree about an instruction. The vector would reach
// beyond the scalar's storage, so there must be no such code.
void RefuseShape(const EmitContext& context, uint32_t index) {
  if (context.error.has_value()) return;
  context.error = absl::StrCat("internal error: the lanes of register ",
                               context.kernel.function->registers[index].name,
                               " were taken to be alike, and are not");
}

}  // namespace

Registers::Registers(const EmitContext& context, BlockNotes* notes)
    : c_(context),
      b_(context.b),
      v_(context.b),
      arrays_(context.b),
      notes_(*notes),
      storage_(context.kernel.function->registers.size()) {}

bool Registers::OnlyInItsBlock(uint32_t index) const {
  return !c_.facts.crosses[index] && !c_.layout.Holds(index);
}

// Full code has its registers on the stack. Masked code has them in the frame,
// but for those that live and die within a block. Code of one mode asks for
// storage of the other at the seams: at an exit, full code writes what masked
// code will read.
Registers::Places Registers::StorageOf(uint32_t index, Mode mode) {
  const LaneShape& shape = c_.ShapeOf(index, mode);
  const Type type = c_.TypeOf(index);
  // Predicates: one bit a lane.
  const bool bits = shape.varying && type == Type::kPred;
  llvm::Type* part = bits            ? b_.getInt32Ty()
                     : shape.varying ? b_.VectorOf(b_.TypeOf(type))
                                     : b_.TypeOf(type);
  // Predicates are kept as bits, since a vector of i1 has no good form in
  // memory.
  const int parts = bits ? 1 : v_.PartsOf(shape);
  Places places;
  if (mode == Mode::kMasked &&
      (c_.mode == Mode::kFull || !OnlyInItsBlock(index))) {
    const uint64_t bytes = (part->getPrimitiveSizeInBits() + 7) / 8;
    const uint64_t offset = c_.layout.Register(index, parts * bytes);
    for (int c = 0; c < parts; ++c) {
      places.push_back({c_.Slot(offset + c * bytes), part});
    }
    return places;
  }
  auto& values = storage_[index];
  while (values.size() < static_cast<size_t>(parts)) {
    values.push_back(b_.AllocaAtEntry(part));
  }
  for (llvm::AllocaInst* value : values) places.push_back({value, part});
  return places;
}

// Full code may then store its parts where masked code reads them; else they
// are expanded at the entry of masked code (FullPathReturn::LoadLiveOuts).
bool Registers::SameStorage(uint32_t index) const {
  const LaneShape& full = c_.ShapeOf(index, Mode::kFull);
  const LaneShape& masked = c_.ShapeOf(index, Mode::kMasked);
  return full.varying == masked.varying &&
         v_.PartsOf(full) == v_.PartsOf(masked);
}

// Where the two shapes differ, full code leaves its own parts beside the
// storage of masked code, which expands them at its entry.
Registers::Places Registers::LiveOutStorage(uint32_t index) {
  auto places = StorageOf(index, Mode::kMasked);
  if (SameStorage(index)) return places;
  llvm::Type* type = b_.TypeOf(c_.TypeOf(index));
  const uint64_t bytes = (type->getPrimitiveSizeInBits() + 7) / 8;
  const int parts = v_.PartsOf(c_.ShapeOf(index, Mode::kFull));
  const uint64_t offset = c_.layout.LiveOut(index, bytes * parts);
  places.clear();
  for (int i = 0; i < parts; ++i) {
    places.push_back({c_.Slot(offset + i * bytes), type});
  }
  return places;
}

// PTX may read a register before it is written, above all in a loop that writes
// it under a guard. A value that was never stored would be undefined for LLVM,
// which could then drop the code that depends on it.
void Registers::ClearStorage() {
  if (c_.facts.live_registers.empty()) return;  // no instructions
  for (size_t r = 0; r < storage_.size(); ++r) {
    if (!c_.facts.live_registers[0][r]) continue;
    for (llvm::AllocaInst* part : storage_[r]) {
      b_.CreateStore(llvm::Constant::getNullValue(part->getAllocatedType()),
                     part);
    }
  }
}

// Loads the value that lanes outside of a mask keep: if nothing was written
// yet, any number, but the same wherever it is read.
llvm::Value* Registers::LoadKept(const Place& place) const {
  llvm::Value* kept = b_.CreateLoad(place.type, place.pointer);
  return llvm::isa<llvm::AllocaInst>(place.pointer) ? b_.CreateFreeze(kept)
                                                    : kept;
}

llvm::AllocaInst* Registers::ScalarOf(uint32_t index) {
  llvm::AllocaInst*& place = scalars_[index];
  if (place == nullptr) place = b_.AllocaAtEntry(b_.TypeOf(c_.TypeOf(index)));
  return place;
}

// A predicate that was written in this block is still at hand as vectors, which
// spares a test of its bits.
Value Registers::Read(uint32_t index, Mode mode, const ActiveLanes& lanes) {
  const Type type = c_.TypeOf(index);
  if (lanes.alone()) {
    return v_.Uniform(type, b_.CreateLoad(b_.TypeOf(type), ScalarOf(index)));
  }
  Value value{c_.ShapeOf(index, mode), type, {}};
  if (auto it = notes_.predicates.find(index);
      mode == c_.mode && it != notes_.predicates.end()) {
    return it->second;
  }
  const auto storage = StorageOf(index, mode);
  if (value.shape.varying && type == Type::kPred) {
    return v_.PredicateOf(b_.LoadI32(storage[0].pointer));
  }
  for (const Place& part : storage) {
    value.parts.push_back(b_.CreateLoad(part.type, part.pointer));
  }
  return value;
}

// The value comes in the shape of the instruction's result, and is stored in
// that of the register, which may be more general: the analysis has joined the
// shapes of all its definitions.
//
// `mask` has no effect on a register that is uniform or affine: all lanes of
// its unit share one scalar, and the analysis lets it be shared only where
// lanes that do not run cannot tell.
void Registers::Write(uint32_t index, const Value& value, Mode mode,
                      llvm::Value* mask, const ActiveLanes& lanes) {
  const Type type = c_.TypeOf(index);
  if (mode == c_.mode) notes_.ForgetAddress(index);
  if (lanes.alone()) {
    llvm::AllocaInst* place = ScalarOf(index);
    b_.CreateStore(arrays_.AtLane(v_.As(value, type), lanes.lane).parts[0],
                   place);
    return;
  }
  const LaneShape& shape = c_.ShapeOf(index, mode);
  const Value typed = v_.As(value, type);
  if (!Fits(typed.shape, shape)) return RefuseShape(c_, index);
  const auto storage = StorageOf(index, mode);
  const Value stored = v_.Reshape(typed, shape);
  if (shape.varying && type == Type::kPred) {
    return WritePredicate(index, value, stored, storage[0], mode, mask);
  }
  for (size_t c = 0; c < storage.size(); ++c) {
    llvm::Value* part = stored.parts[c];
    if (mask != nullptr && shape.varying) {
      llvm::Value* old = LoadKept(storage[c]);
      part =
          b_.CreateSelect(v_.ChunkMask(mask, static_cast<int>(c)), part, old);
    }
    b_.CreateStore(part, storage[c].pointer);
  }
}

// Stores one bit a lane. The vectors stay known for the rest of the block if
// all lanes have been written.
void Registers::WritePredicate(uint32_t index, const Value& value,
                               const Value& stored, const Place& place,
                               Mode mode, llvm::Value* mask) {
  llvm::Value* bits = v_.BitsOfPredicate(
      value.shape.uniform() ? v_.As(value, Type::kPred) : stored);
  if (mode == c_.mode) notes_.predicates.erase(index);
  if (mask == nullptr && mode == c_.mode) notes_.predicates[index] = stored;
  if (mask != nullptr) {
    llvm::Value* old = LoadKept(place);
    bits = b_.CreateOr(b_.CreateAnd(bits, mask),
                       b_.CreateAnd(old, b_.CreateNot(mask)));
  }
  b_.CreateStore(bits, place.pointer);
}

}  // namespace holdfast::software::jit
