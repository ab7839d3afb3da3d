// SPDX-License-Identifier: Apache-2.0
//
// Registers and operands.
//
// A Value is a scalar or a few vectors, as its shape says: a value that is
// uniform or affine over the warp is one scalar (its base), over a chunk one
// scalar a chunk, and a varying one a vector a chunk. Operations run in the
// shape of their result; Vector() and Base() give each operand the form that
// is needed, without storing anything.
//
// A varying predicate has two forms: a mask a chunk, and one bit a lane in an
// i32. It is kept as the latter, so that combining them costs one instruction;
// predicates_ remembers the former within a block.
#include <cstring>

#include "core/software/jit/kernel_emitter.h"
#include "core/software/runtime/abi.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Operand;
using ptx::Special;
using ptx::Type;

// How many scalars or vectors make up a value of this shape.
int KernelEmitter::PartsOf(const LaneShape& shape) const {
  return !shape.varying && shape.wide ? 1 : chunks_;
}

Value KernelEmitter::Uniform(Type type, llvm::Value* scalar) {
  return Value{LaneShape{}, type, {scalar}};
}

// The scalar that a chunk's lanes count from.
llvm::Value* KernelEmitter::Base(const Value& value, int chunk) {
  if (!value.shape.wide) return value.parts[chunk];
  if (value.shape.stride == 0 || chunk == 0) return value.parts[0];
  llvm::Type* type = value.parts[0]->getType();
  return b_.CreateAdd(
      value.parts[0],
      llvm::ConstantInt::get(type, value.shape.stride * chunk * lanes_, true));
}

// A chunk of the value as a vector, whatever its shape.
llvm::Value* KernelEmitter::Vector(const Value& value, int chunk) {
  if (value.shape.varying) return value.parts[chunk];
  llvm::Value* splat = b_.Splat(Base(value, chunk));
  if (value.shape.stride == 0) return splat;
  return b_.CreateAdd(
      splat, b_.Iota(splat->getType()->getScalarType(), value.shape.stride));
}

// To a shape that the value has, too: never from varying to another.
Value KernelEmitter::Reshape(const Value& value, const LaneShape& shape) {
  if (value.shape == shape) return value;
  Value result{shape, value.type, {}};
  for (int c = 0; c < PartsOf(shape); ++c) {
    result.parts.push_back(shape.varying ? Vector(value, c) : Base(value, c));
  }
  return result;
}

// The same bits as another type; integers are widened by their own signedness.
Value KernelEmitter::As(const Value& value, Type type) {
  const int from = ptx::BitsOf(value.type);
  const int to = ptx::BitsOf(type);
  llvm::Type* target = b_.TypeOf(type);
  llvm::Type* current = value.parts[0]->getType()->getScalarType();
  Value source = value;
  if (target == current) {
    source.type = type;
    return source;
  }
  const bool affine = !value.shape.varying && value.shape.stride != 0;
  if (affine && (to > from || !target->isIntegerTy())) {
    source = Reshape(value, LaneShape::Varying());
  }
  Value result{source.shape, type, {}};
  for (llvm::Value* part : source.parts) {
    const bool vector = part->getType()->isVectorTy();
    auto typed = [&](llvm::Type* t) { return vector ? b_.VectorOf(t) : t; };
    if (!current->isIntegerTy()) {
      part = b_.CreateBitCast(part, typed(b_.getIntNTy(from)));
    }
    if (from != to) {
      llvm::Type* integer = typed(b_.getIntNTy(to));
      part = ptx::IsSigned(value.type) ? b_.CreateSExtOrTrunc(part, integer)
                                       : b_.CreateZExtOrTrunc(part, integer);
    }
    result.parts.push_back(b_.CreateBitCast(part, typed(target)));
  }
  return result;
}

llvm::Value* KernelEmitter::Slot(uint64_t offset) {
  return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), frame_, offset);
}

// Whether a register lives and dies within a block, and full code never hands
// it over. Masked code keeps such registers as values.
bool KernelEmitter::OnlyInItsBlock(uint32_t index) const {
  return !crosses_[index] && !layout_.Holds(index);
}

// Full code keeps registers as values, masked code those that do not leave
// their block; the others are in the frame.
llvm::SmallVector<KernelEmitter::Place, 4> KernelEmitter::Storage(
    uint32_t index, Mode mode) {
  const LaneShape& shape = shapes_[static_cast<int>(mode)].registers[index];
  const Type type = kernel_.function->registers[index].type;
  // Predicates: one bit a lane.
  const bool bits = shape.varying && type == Type::kPred;
  llvm::Type* part = bits            ? b_.getInt32Ty()
                     : shape.varying ? b_.VectorOf(b_.TypeOf(type))
                                     : b_.TypeOf(type);
  const int parts = bits ? 1 : PartsOf(shape);
  llvm::SmallVector<Place, 4> places;
  if (mode == Mode::kMasked &&
      (mode_ == Mode::kFull || !OnlyInItsBlock(index))) {
    const uint64_t bytes = (part->getPrimitiveSizeInBits() + 7) / 8;
    const uint64_t offset = layout_.Register(index, parts * bytes);
    for (int c = 0; c < parts; ++c) {
      places.push_back({Slot(offset + c * bytes), part});
    }
    return places;
  }
  auto& values = storage_[static_cast<int>(mode)][index];
  while (values.size() < static_cast<size_t>(parts)) {
    values.push_back(b_.AllocaAtEntry(part));
  }
  for (llvm::AllocaInst* value : values) places.push_back({value, part});
  return places;
}

// A varying predicate, from one bit a lane.
Value KernelEmitter::PredicateOf(llvm::Value* bits) {
  Value value{LaneShape::Varying(), Type::kPred, {}, bits};
  for (int c = 0; c < chunks_; ++c) value.parts.push_back(ChunkMask(bits, c));
  return value;
}

// `mode` is whose storage is read: at the seams between the two functions it is
// not the mode of the code that is being emitted.
Value KernelEmitter::ReadRegister(uint32_t index, Mode mode) {
  const Type type = kernel_.function->registers[index].type;
  if (lane_ != nullptr) {
    auto*& place = lane_registers_[index];
    if (place == nullptr) place = b_.AllocaAtEntry(b_.TypeOf(type));
    return Uniform(type, b_.CreateLoad(b_.TypeOf(type), place));
  }
  Value value{shapes_[static_cast<int>(mode)].registers[index], type, {}};
  if (auto it = predicates_.find(index);
      mode == mode_ && it != predicates_.end()) {
    return it->second;
  }
  const auto storage = Storage(index, mode);
  if (value.shape.varying && type == Type::kPred) {
    return PredicateOf(LoadI32(storage[0].pointer));
  }
  for (const Place& part : storage) {
    value.parts.push_back(b_.CreateLoad(part.type, part.pointer));
  }
  return value;
}

// Loads the value that lanes outside of a mask keep: if nothing was written
// yet, any number, but the same wherever it is read.
llvm::Value* KernelEmitter::LoadKept(const Place& place) {
  llvm::Value* kept = b_.CreateLoad(place.type, place.pointer);
  return llvm::isa<llvm::AllocaInst>(place.pointer) ? b_.CreateFreeze(kept)
                                                    : kept;
}

// Lanes outside of `mask` keep what they have; null: all lanes are written.
void KernelEmitter::WriteRegister(uint32_t index, const Value& value, Mode mode,
                                  llvm::Value* mask) {
  const Type type = kernel_.function->registers[index].type;
  if (mode == mode_) {
    tested_.erase(index);
    prefetch_.offsets.erase(index);
  }
  if (lane_ != nullptr) {
    auto*& place = lane_registers_[index];
    if (place == nullptr) place = b_.AllocaAtEntry(b_.TypeOf(type));
    b_.CreateStore(AtLane(As(value, type), lane_).parts[0], place);
    return;
  }
  const LaneShape& shape = shapes_[static_cast<int>(mode)].registers[index];
  const auto storage = Storage(index, mode);
  const Value stored = Reshape(As(value, type), shape);
  if (shape.varying && type == Type::kPred) {
    llvm::Value* bits =
        BitsOfPredicate(value.shape.uniform() ? As(value, type) : stored);
    if (mode == mode_) predicates_.erase(index);
    if (mask == nullptr && mode == mode_) predicates_[index] = stored;
    if (mask != nullptr) {
      llvm::Value* old = LoadKept(storage[0]);
      bits = b_.CreateOr(b_.CreateAnd(bits, mask),
                         b_.CreateAnd(old, b_.CreateNot(mask)));
    }
    b_.CreateStore(bits, storage[0].pointer);
    return;
  }
  for (size_t c = 0; c < storage.size(); ++c) {
    llvm::Value* part = stored.parts[c];
    if (mask != nullptr && shape.varying) {
      llvm::Value* old = LoadKept(storage[c]);
      part = b_.CreateSelect(ChunkMask(mask, static_cast<int>(c)), part, old);
    }
    b_.CreateStore(part, storage[c].pointer);
  }
}

// Under a mask, lanes that do not run keep their values, unless the analysis
// has found that no lane can see them (DivergenceAnalysis::overwrite). This
// spares a load and a blend for most temporaries.
void KernelEmitter::Write(const Operand& operand, Value value) {
  if (operand.kind != Operand::Kind::kRegister) return;  // the sink
  const bool keep = (mode_ == Mode::kMasked || region_ != nullptr) &&
                    !shapes_[1].overwrite[operand.index];
  llvm::Value* mask = keep || guard_bits_ != nullptr ? LaneMask() : nullptr;
  WriteRegister(operand.index, value, mode_, mask);
}

// The operand's bits as `type`.
Value KernelEmitter::Read(const Operand& operand, Type type) {
  switch (operand.kind) {
    case Operand::Kind::kRegister: {
      Value value = ReadRegister(operand.index, mode_);
      if (operand.negated) {
        for (llvm::Value*& part : value.parts) part = b_.CreateNot(part);
        if (value.bits != nullptr) value.bits = b_.CreateNot(value.bits);
      }
      return As(value, type);
    }
    case Operand::Kind::kSpecial:
      return As(OfLane(ReadSpecial(static_cast<Special>(operand.index))), type);
    case Operand::Kind::kVariable:
    case Operand::Kind::kLocalVariable:
      return As(OfLane(ReadAddress(operand)), type);
    default:
      break;
  }
  uint64_t bits = operand.bits;
  if (operand.kind == Operand::Kind::kFloat64 && type == Type::kF32) {
    double wide;
    std::memcpy(&wide, &bits, sizeof(wide));
    const float narrow = static_cast<float>(wide);
    bits = 0;
    std::memcpy(&bits, &narrow, sizeof(narrow));
  }
  if (type == Type::kPred) return Uniform(type, b_.getInt1(bits != 0));
  llvm::Value* constant =
      b_.getInt(llvm::APInt(64, bits).zextOrTrunc(ptx::BitsOf(type)));
  return Uniform(type, b_.CreateBitCast(constant, b_.TypeOf(type)));
}

Value KernelEmitter::ReadLanemask(Special special) {
  Value result{LaneShape::Varying(), Type::kU32, {}};
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* equal = b_.CreateShl(b_.Splat(b_.I32(1)), LaneNumbers(c));
    llvm::Value* less = b_.CreateSub(equal, b_.Splat(b_.I32(1)));
    llvm::Value* mask = equal;
    if (special == Special::kLanemaskLt) mask = less;
    if (special == Special::kLanemaskLe) mask = b_.CreateOr(less, equal);
    if (special == Special::kLanemaskGe) mask = b_.CreateNot(less);
    if (special == Special::kLanemaskGt) {
      mask = b_.CreateNot(b_.CreateOr(less, equal));
    }
    result.parts.push_back(mask);
  }
  return result;
}

// Cycles of the CPU; nanoseconds.
Value KernelEmitter::ReadClock(Special special) {
  const bool timer = special >= Special::kGlobaltimer;
  llvm::Value* now =
      timer ? CallRuntime("holdfast_globaltimer", b_.getInt64Ty(), {})
            : b_.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, {}, {});
  const Type type = ptx::TypeOf(special);
  if (special == Special::kClockHi || special == Special::kGlobaltimerHi) {
    now = b_.CreateLShr(now, 32);
  }
  return Uniform(type, b_.CreateTrunc(now, b_.TypeOf(type)));
}

// Reads a special register that is the same for the whole launch. A block is a
// cluster of its own, and all run on multiprocessor 0.
Value KernelEmitter::ReadLaunch(Special special) {
  const Type type = ptx::TypeOf(special);
  auto field = [&](size_t offset, llvm::Type* kind) {
    return LoadField(launch_, offset, kind, true);
  };
  llvm::Value* value = llvm::ConstantInt::get(b_.TypeOf(type), 0);
  switch (special) {
    case Special::kEnvreg1:
    case Special::kEnvreg2: {
      llvm::Value* workspace =
          field(offsetof(LaunchContext, grid_workspace), b_.getInt64Ty());
      const uint64_t shift = special == Special::kEnvreg1 ? 32 : 0;
      value = b_.CreateTrunc(b_.CreateLShr(workspace, shift), b_.getInt32Ty());
      break;
    }
    case Special::kDynamicSmemSize:
    case Special::kTotalSmemSize:
      value =
          field(offsetof(LaunchContext, dynamic_shared_bytes), b_.getInt32Ty());
      if (special == Special::kTotalSmemSize) {
        value = b_.CreateAdd(
            value, b_.I32(static_cast<uint32_t>(kernel_.static_shared_bytes)));
      }
      break;
    case Special::kClusteridX:
    case Special::kClusteridY:
    case Special::kClusteridZ:
      value = block_index_[static_cast<int>(special) -
                           static_cast<int>(Special::kClusteridX)];
      break;
    case Special::kNclusteridX:
    case Special::kNclusteridY:
    case Special::kNclusteridZ:
      value = grid_[static_cast<int>(special) -
                    static_cast<int>(Special::kNclusteridX)];
      break;
    case Special::kNsmid:
    case Special::kClusterNctaidX:
    case Special::kClusterNctaidY:
    case Special::kClusterNctaidZ:
    case Special::kClusterNctarank:
      value = b_.I32(1);
      break;
    default:
      break;
  }
  return Uniform(type, value);
}

// Each lane has its own copy of a local variable, hence its own address.
Value KernelEmitter::ReadAddress(const Operand& operand) {
  if (kernel_.VariableOf(operand).space != ptx::Space::kLocal) {
    return Uniform(Type::kU64, VariableAddress(operand));
  }
  llvm::Value* offset = b_.getInt64(kernel_.AddressOf(operand));
  const auto stride = static_cast<int64_t>(kernel_.local_bytes);
  return Value{LaneShape{false, true, stride},
               Type::kU64,
               {b_.CreateAdd(local_, offset)}};
}

// Coordinates of threads come from the warp's number, in the shape that the
// block's extents allow; divisions by them are by constants.
Value KernelEmitter::ReadSpecial(Special special) {
  const Type type = ptx::TypeOf(special);
  const uint32_t extent[3] = {block_.x, block_.y, block_.z};
  const int which = static_cast<int>(special);
  auto axis = [&](Special first) { return which - static_cast<int>(first); };
  switch (special) {
    case Special::kTidX:
    case Special::kTidY:
    case Special::kTidZ:
      break;
    case Special::kNtidX:
    case Special::kNtidY:
    case Special::kNtidZ:
      return Value{analysis::ShapeOfSpecial(special, block_, lanes_),
                   type,
                   {b_.I32(extent[axis(Special::kNtidX)])}};
    case Special::kCtaidX:
    case Special::kCtaidY:
    case Special::kCtaidZ:
      return Uniform(type, block_index_[axis(Special::kCtaidX)]);
    case Special::kNctaidX:
    case Special::kNctaidY:
    case Special::kNctaidZ:
      return Uniform(type, grid_[axis(Special::kNctaidX)]);
    case Special::kLaneid:
      return Value{
          analysis::ShapeOfSpecial(special, block_, lanes_), type, {b_.I32(0)}};
    case Special::kWarpid:
      return Uniform(type, warp_);
    case Special::kNwarpid:
      return Uniform(type, b_.I32((block_.threads() + 31) / 32));
    case Special::kLanemaskEq:
    case Special::kLanemaskLe:
    case Special::kLanemaskLt:
    case Special::kLanemaskGe:
    case Special::kLanemaskGt:
      return ReadLanemask(special);
    case Special::kClock:
    case Special::kClockHi:
    case Special::kClock64:
    case Special::kGlobaltimer:
    case Special::kGlobaltimerLo:
    case Special::kGlobaltimerHi:
      return ReadClock(special);
    default:
      return ReadLaunch(special);
  }
  // tid: from the thread's linear number in the block.
  Value linear{LaneShape{false, true, 1},
               Type::kU32,
               {b_.CreateMul(warp_, b_.I32(analysis::kWarpLanes))}};
  Value result{analysis::ShapeOfSpecial(special, block_, lanes_), type, {}};
  for (int c = 0; c < PartsOf(result.shape); ++c) {
    llvm::Value* part =
        result.shape.varying ? Vector(linear, c) : Base(linear, c);
    auto constant = [&](uint32_t value) {
      return llvm::ConstantInt::get(part->getType(), value);
    };
    if (special == Special::kTidX) {
      if (block_.y * block_.z > 1) {
        part = b_.CreateURem(part, constant(block_.x));
      }
    } else if (special == Special::kTidY) {
      part = b_.CreateURem(b_.CreateUDiv(part, constant(block_.x)),
                           constant(block_.y));
    } else {
      part = b_.CreateUDiv(part, constant(block_.x * block_.y));
    }
    result.parts.push_back(part);
  }
  return result;
}

}  // namespace holdfast::software::jit
