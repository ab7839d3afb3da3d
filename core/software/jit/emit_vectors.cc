// SPDX-License-Identifier: Apache-2.0
//
// Loads and stores of two or four elements a lane, such as ld.v4: each lane's
// elements lie side by side, so that they go by one vector, and are sorted by
// element in registers.
//
// Two ways. In groups, for all lanes at once: a vector holds the elements of
// one or several lanes, and shuffles transpose lanes and elements. As a whole,
// lane by lane: for accesses that other threads must see entire.
#include "core/software/jit/kernel_emitter.h"

namespace holdfast::software::jit {

using ptx::Type;
using Kind = AccessSite::Kind;

namespace {

constexpr int kLargestGroup = 16;  // bytes that a lane accesses

// [first, first + step, ...], `count` of them.
llvm::SmallVector<int, 32> Every(int first, int step, int count) {
  llvm::SmallVector<int, 32> order;
  for (int i = 0; i < count; ++i) order.push_back(first + i * step);
  return order;
}

}  // namespace

// Whether all lanes access `count` elements at places of their own.
bool KernelEmitter::InGroups(const Value& address, Type type, size_t count) {
  const int bytes = ptx::BytesOf(type);
  const auto group = static_cast<int64_t>(bytes * count);
  if (LaneMask() != nullptr || address.shape.chunk_uniform() || bytes == 1 ||
      group > kLargestGroup) {
    return false;
  }
  return count == 4 || (count == 2 && !address.shape.varying &&
                        address.shape.stride == group);
}

// `vector` holds consecutive lanes' groups from `lane` on.
template <typename T>
T* KernelEmitter::MarkGroups(T* access, int lane, int groups, size_t count) {
  return Mark(access, groups == 1 ? Kind::kOneLane : Kind::kLanes, lane, false,
              static_cast<int>(count));
}

// The place of the group that starts with `lane`.
llvm::Value* KernelEmitter::GroupPointer(const Value& address, int lane) {
  if (!address.shape.varying) return LanePointer(address, lane);
  return Pointer(b_.CreateExtractElement(address.parts[lane / lanes_],
                                         static_cast<uint64_t>(lane % lanes_)));
}

// By element, each with the parts of all chunks.
std::vector<Value> KernelEmitter::LoadGroups(const Value& address, Type type,
                                             size_t count) {
  std::vector<Value> elements(count,
                              Value{analysis::LaneShape::Varying(), type, {}});
  const int each = count == 2 ? lanes_ / 2 : 1;  // groups at a time
  const int width = each * static_cast<int>(count);
  for (int c = 0; c < chunks_; ++c) {
    llvm::SmallVector<llvm::Value*, 16> groups;
    for (int lane = c * lanes_; lane < (c + 1) * lanes_; lane += each) {
      groups.push_back(
          MarkGroups(b_.CreateAlignedLoad(
                         llvm::FixedVectorType::get(b_.TypeOf(type), width),
                         GroupPointer(address, lane),
                         llvm::Align(ptx::BytesOf(type) * count)),
                     lane, each, count));
    }
    const auto parts = count == 2 ? SplitPairs(groups) : SplitFours(groups);
    for (size_t i = 0; i < count; ++i) elements[i].parts.push_back(parts[i]);
  }
  return elements;
}

// The reverse of LoadGroups.
void KernelEmitter::StoreGroups(const Value& address,
                                absl::Span<const Value> elements) {
  const size_t count = elements.size();
  const Type type = elements[0].type;
  const int each = count == 2 ? lanes_ / 2 : 1;
  for (int c = 0; c < chunks_; ++c) {
    llvm::SmallVector<llvm::Value*, 4> parts;
    for (const Value& element : elements) parts.push_back(Vector(element, c));
    const auto groups = count == 2 ? JoinPairs(parts) : JoinFours(parts);
    for (size_t i = 0; i < groups.size(); ++i) {
      const int lane = c * lanes_ + static_cast<int>(i) * each;
      MarkGroups(b_.CreateAlignedStore(groups[i], GroupPointer(address, lane),
                                       llvm::Align(ptx::BytesOf(type) * count)),
                 lane, each, count);
    }
  }
}

// A lane's elements side by side, as one number or as a pair of 64 bits each,
// that one instruction moves.
std::vector<Value> KernelEmitter::LoadWhole(const Value& address, Type type,
                                            size_t count) {
  const int bits = ptx::BitsOf(type) * static_cast<int>(count);
  llvm::Type* word = b_.getIntNTy(std::min(bits, 64));
  llvm::Value* addresses = SpillAddresses(address);
  llvm::Value* lanes = LaneMask() == nullptr ? b_.I32(~0u) : LaneMask();
  NoteLanes(lanes);
  Value zeros{analysis::LaneShape::Varying(), Type::kU64, {}};
  zeros.parts.assign(chunks_, llvm::Constant::getNullValue(b_.VectorOf(word)));
  Parts places;
  for (int i = 0; i < bits; i += 64) {
    places.push_back(Spill(zeros));
  }
  ForEachLane(lanes, [&](llvm::Value* lane) {
    llvm::Value* from = b_.CreateLoad(
        b_.getInt64Ty(), b_.CreateGEP(b_.getInt64Ty(), addresses, lane));
    auto* whole =
        llvm::FixedVectorType::get(word, static_cast<unsigned>(places.size()));
    llvm::Value* loaded =
        Mark(b_.CreateAlignedLoad(whole, Pointer(from), llvm::Align(bits / 8),
                                  /*isVolatile=*/true),
             Kind::kListed, 0, true, static_cast<int>(count));
    for (size_t i = 0; i < places.size(); ++i) {
      b_.CreateStore(b_.CreateExtractElement(loaded, i),
                     b_.CreateGEP(word, places[i], lane));
    }
  });
  std::vector<Value> words;
  for (llvm::Value* place : places) {
    words.push_back({analysis::LaneShape::Varying(), Type::kU64, {}});
    for (int c = 0; c < chunks_; ++c) {
      words.back().parts.push_back(b_.CreateAlignedLoad(
          b_.VectorOf(word), b_.CreateConstGEP1_32(word, place, c * lanes_),
          llvm::Align(word->getIntegerBitWidth() / 8)));
    }
  }
  std::vector<Value> elements;
  for (size_t i = 0; i < count; ++i) {
    elements.push_back(ElementOf(words, type, i));
  }
  return elements;
}

void KernelEmitter::StoreWhole(const Value& address,
                               absl::Span<const Value> elements) {
  const int bits =
      ptx::BitsOf(elements[0].type) * static_cast<int>(elements.size());
  llvm::Type* word = b_.getIntNTy(std::min(bits, 64));
  llvm::Value* addresses = SpillAddresses(address);
  llvm::Value* lanes = LaneMask() == nullptr ? b_.I32(~0u) : LaneMask();
  NoteLanes(lanes);
  Parts places;
  for (int i = 0; i < bits; i += 64) {
    places.push_back(Spill(WordOf(elements, i, std::min(bits, 64))));
  }
  ForEachLane(lanes, [&](llvm::Value* lane) {
    llvm::Value* to = b_.CreateLoad(
        b_.getInt64Ty(), b_.CreateGEP(b_.getInt64Ty(), addresses, lane));
    llvm::Value* whole = llvm::PoisonValue::get(
        llvm::FixedVectorType::get(word, static_cast<unsigned>(places.size())));
    for (size_t i = 0; i < places.size(); ++i) {
      whole = b_.CreateInsertElement(
          whole, b_.CreateLoad(word, b_.CreateGEP(word, places[i], lane)), i);
    }
    Mark(b_.CreateAlignedStore(whole, Pointer(to), llvm::Align(bits / 8),
                               /*isVolatile=*/true),
         Kind::kListed, 0, true, static_cast<int>(elements.size()));
  });
}

// `bits` of what the elements are side by side, from one on.
Value KernelEmitter::WordOf(absl::Span<const Value> elements, int first_bit,
                            int bits) {
  const int each = ptx::BitsOf(elements[0].type);
  llvm::Type* vector = b_.VectorOf(b_.getIntNTy(bits));
  Value word{analysis::LaneShape::Varying(), Type::kU64, {}};
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* sum = llvm::Constant::getNullValue(vector);
    for (size_t i = 0; i < elements.size(); ++i) {
      const int at = static_cast<int>(i) * each - first_bit;
      if (at + each <= 0 || at >= bits) continue;
      llvm::Value* part = b_.CreateBitCast(Vector(elements[i], c),
                                           b_.VectorOf(b_.getIntNTy(each)));
      if (at < 0) part = b_.CreateLShr(part, -at);
      part = b_.CreateZExtOrTrunc(part, vector);
      sum = b_.CreateOr(sum, at > 0 ? b_.CreateShl(part, at) : part);
    }
    word.parts.push_back(sum);
  }
  return word;
}

// Element i of what the words are side by side.
Value KernelEmitter::ElementOf(absl::Span<const Value> words, Type type,
                               size_t i) {
  const int each = ptx::BitsOf(type);
  const int at = static_cast<int>(i) * each;
  llvm::Type* vector = b_.VectorOf(b_.getIntNTy(each));
  Value element{analysis::LaneShape::Varying(), type, {}};
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* part = b_.CreateZExtOrTrunc(
        b_.CreateLShr(words[at / 64].parts[c], at % 64), vector);
    if (each > 64) {
      part = b_.CreateOr(
          part, b_.CreateShl(b_.CreateZExt(words[1].parts[c], vector), 64));
    }
    element.parts.push_back(
        b_.CreateBitCast(part, b_.VectorOf(b_.TypeOf(type))));
  }
  return element;
}

// {a0 b0 a1 b1 ..., ...} -> {a0 a1 ..., b0 b1 ...}, of a chunk.
KernelEmitter::Parts KernelEmitter::SplitPairs(
    llvm::ArrayRef<llvm::Value*> halves) {
  return {b_.CreateShuffleVector(halves[0], halves[1], Every(0, 2, lanes_)),
          b_.CreateShuffleVector(halves[0], halves[1], Every(1, 2, lanes_))};
}

// The reverse of SplitPairs.
KernelEmitter::Parts KernelEmitter::JoinPairs(
    llvm::ArrayRef<llvm::Value*> parts) {
  Parts halves;
  for (int half = 0; half < 2; ++half) {
    llvm::SmallVector<int, 16> order;
    for (int i = 0; i < lanes_ / 2; ++i) {
      order.push_back(half * lanes_ / 2 + i);
      order.push_back(half * lanes_ / 2 + i + lanes_);
    }
    halves.push_back(b_.CreateShuffleVector(parts[0], parts[1], order));
  }
  return halves;
}

// Squares of four lanes by four elements change places, side by side in one
// vector: part i of the result has, in square s, element i of the four parts.
KernelEmitter::Parts KernelEmitter::TurnSquares(
    llvm::ArrayRef<llvm::Value*> parts) {
  const auto zip = [&](llvm::Value* a, llvm::Value* b, int first) {
    llvm::SmallVector<int, 16> order;
    for (int s = 0; s < lanes_; s += 4) {
      for (int i = 0; i < 2; ++i) {
        order.push_back(s + first + i);
        order.push_back(s + first + i + lanes_);
      }
    }
    return b_.CreateShuffleVector(a, b, order);
  };
  const auto pair = [&](llvm::Value* a, llvm::Value* b, int first) {
    llvm::SmallVector<int, 16> order;
    for (int s = 0; s < lanes_; s += 4) {
      for (int i = 0; i < 2; ++i) order.push_back(s + first + i);
      for (int i = 0; i < 2; ++i) order.push_back(s + first + i + lanes_);
    }
    return b_.CreateShuffleVector(a, b, order);
  };
  llvm::Value* low[2] = {zip(parts[0], parts[1], 0),
                         zip(parts[2], parts[3], 0)};
  llvm::Value* high[2] = {zip(parts[0], parts[1], 2),
                          zip(parts[2], parts[3], 2)};
  return {pair(low[0], low[1], 0), pair(low[0], low[1], 2),
          pair(high[0], high[1], 0), pair(high[0], high[1], 2)};
}

// Sixteen lanes of four elements: first the groups of every fourth lane are put
// side by side, then squares are transposed.
KernelEmitter::Parts KernelEmitter::SplitFours(
    llvm::ArrayRef<llvm::Value*> groups) {
  Parts parts;
  for (int j = 0; j < 4; ++j) {
    // Lanes j, j + 4, ... of the chunk.
    Parts joined;
    for (int lane = j; lane < lanes_; lane += 4) joined.push_back(groups[lane]);
    while (joined.size() > 1) {
      Parts wider;
      for (size_t i = 0; i < joined.size(); i += 2) {
        const auto* type =
            llvm::cast<llvm::FixedVectorType>(joined[i]->getType());
        wider.push_back(b_.CreateShuffleVector(
            joined[i], joined[i + 1],
            Every(0, 1, 2 * static_cast<int>(type->getNumElements()))));
      }
      joined = wider;
    }
    parts.push_back(joined[0]);
  }
  return TurnSquares(parts);
}

// The reverse of SplitFours.
KernelEmitter::Parts KernelEmitter::JoinFours(
    llvm::ArrayRef<llvm::Value*> parts) {
  const Parts turned = TurnSquares(parts);
  Parts groups;
  for (int lane = 0; lane < lanes_; ++lane) {
    groups.push_back(
        b_.CreateShuffleVector(turned[lane % 4], Every(lane / 4 * 4, 1, 4)));
  }
  return groups;
}

}  // namespace holdfast::software::jit
