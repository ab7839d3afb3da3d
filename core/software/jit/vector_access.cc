// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/vector_access.h"

#include <algorithm>

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Type;
using Kind = AccessSite::Kind;

namespace {

constexpr int kLargestGroup = 16;  // bytes that a lane accesses

}  // namespace

// Whether all lanes access `count` elements at places of their own.
// Pairs only if they lie in a row, where a vector holds those of half a chunk.
// Fours at any addresses, since one load brings the four elements of a lane.
bool VectorAccess::InGroups(const Step& step, const Value& address, Type type,
                            size_t count) const {
  const int bytes = ptx::BytesOf(type);
  const auto group = static_cast<int64_t>(bytes * count);
  if (step.lanes.Mask(b_) != nullptr || address.shape.chunk_uniform() ||
      bytes == 1 || group > kLargestGroup) {
    return false;
  }
  return count == 4 || (count == 2 && !address.shape.varying &&
                        address.shape.stride == group);
}

// The lanes whose groups one vector holds, from `lane` on.
AccessedLanes VectorAccess::GroupLanes(int lane, int groups) const {
  return {groups == 1 ? Kind::kOneLane : Kind::kLanes, lane, false};
}

// The place of the group that starts with `lane`.
llvm::Value* VectorAccess::GroupPointer(const Value& address, int lane) const {
  if (!address.shape.varying) return v_.LanePointer(address, lane);
  return v_.Pointer(
      b_.CreateExtractElement(address.parts[lane / c_.lanes()],
                              static_cast<uint64_t>(lane % c_.lanes())));
}

// By element, each with the parts of all chunks.
// Pairs: two vectors hold a chunk, each for half of its lanes. Fours: a vector
// a lane.
std::vector<Value> VectorAccess::LoadGroups(const Step& step,
                                            const Value& address, Type type,
                                            size_t count) const {
  std::vector<Value> elements(count, Value{LaneShape::Varying(), type, {}});
  const int each = count == 2 ? c_.lanes() / 2 : 1;  // groups at a time
  const int width = each * static_cast<int>(count);
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::SmallVector<llvm::Value*, 16> groups;
    for (int lane = c * c_.lanes(); lane < (c + 1) * c_.lanes(); lane += each) {
      groups.push_back(
          Mark(c_.kernel, step,
               b_.CreateAlignedLoad(
                   llvm::FixedVectorType::get(b_.TypeOf(type), width),
                   GroupPointer(address, lane),
                   llvm::Align(ptx::BytesOf(type) * count)),
               GroupLanes(lane, each), static_cast<int>(count)));
    }
    const auto parts = count == 2 ? transpose_.SplitPairs(groups)
                                  : transpose_.SplitFours(groups);
    for (size_t i = 0; i < count; ++i) elements[i].parts.push_back(parts[i]);
  }
  return elements;
}

// The reverse of LoadGroups.
void VectorAccess::StoreGroups(const Step& step, const Value& address,
                               absl::Span<const Value> elements) const {
  const size_t count = elements.size();
  const Type type = elements[0].type;
  const int each = count == 2 ? c_.lanes() / 2 : 1;
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::SmallVector<llvm::Value*, 4> parts;
    for (const Value& element : elements)
      parts.push_back(v_.Vector(element, c));
    const auto groups =
        count == 2 ? transpose_.JoinPairs(parts) : transpose_.JoinFours(parts);
    for (size_t i = 0; i < groups.size(); ++i) {
      const int lane = c * c_.lanes() + static_cast<int>(i) * each;
      Mark(c_.kernel, step,
           b_.CreateAlignedStore(groups[i], GroupPointer(address, lane),
                                 llvm::Align(ptx::BytesOf(type) * count)),
           GroupLanes(lane, each), static_cast<int>(count));
    }
  }
}

// A lane's elements side by side, as one number or as a pair of 64 bits each,
// that one instruction moves.
// Volatile, so that LLVM neither splits the access nor joins it with another: a
// CPU moves up to 8 bytes at once in any case, and 16 aligned bytes with AVX.
// Results go by arrays of words, from which elements are cut with shifts, for
// all lanes of a chunk at a time.
std::vector<Value> VectorAccess::LoadWhole(const Step& step,
                                           const Value& address, Type type,
                                           size_t count) const {
  const int bits = ptx::BitsOf(type) * static_cast<int>(count);
  llvm::Type* word = b_.getIntNTy(std::min(bits, 64));
  llvm::Value* addresses = runtime_.SpillAddresses(address);
  llvm::Value* lanes =
      step.lanes.Mask(b_) == nullptr ? b_.I32(kAllLanes) : step.lanes.Mask(b_);
  runtime_.NoteLanes(lanes);
  Value zeros{LaneShape::Varying(), Type::kU64, {}};
  zeros.parts.assign(c_.chunks(),
                     llvm::Constant::getNullValue(b_.VectorOf(word)));
  LaneTranspose::Parts places;
  for (int i = 0; i < bits; i += 64) {
    places.push_back(arrays_.Spill(zeros));
  }
  arrays_.ForEachLane(lanes, [&](llvm::Value* lane) {
    llvm::Value* from = b_.CreateLoad(
        b_.getInt64Ty(), b_.CreateGEP(b_.getInt64Ty(), addresses, lane));
    auto* whole =
        llvm::FixedVectorType::get(word, static_cast<unsigned>(places.size()));
    llvm::Value* loaded = Mark(
        c_.kernel, step,
        b_.CreateAlignedLoad(whole, v_.Pointer(from), llvm::Align(bits / 8),
                             /*isVolatile=*/true),
        {Kind::kListed, 0, true}, static_cast<int>(count));
    for (size_t i = 0; i < places.size(); ++i) {
      b_.CreateStore(b_.CreateExtractElement(loaded, i),
                     b_.CreateGEP(word, places[i], lane));
    }
  });
  std::vector<Value> words;
  for (llvm::Value* place : places) {
    words.push_back({LaneShape::Varying(), Type::kU64, {}});
    for (int c = 0; c < c_.chunks(); ++c) {
      words.back().parts.push_back(b_.CreateAlignedLoad(
          b_.VectorOf(word), b_.CreateConstGEP1_32(word, place, c * c_.lanes()),
          llvm::Align(word->getIntegerBitWidth() / 8)));
    }
  }
  std::vector<Value> elements;
  for (size_t i = 0; i < count; ++i) {
    elements.push_back(ElementOf(words, type, i));
  }
  return elements;
}

// The reverse: elements are shifted together to words, lane by lane the words
// become one vector, and that one store.
void VectorAccess::StoreWhole(const Step& step, const Value& address,
                              absl::Span<const Value> elements) const {
  const int bits =
      ptx::BitsOf(elements[0].type) * static_cast<int>(elements.size());
  llvm::Type* word = b_.getIntNTy(std::min(bits, 64));
  llvm::Value* addresses = runtime_.SpillAddresses(address);
  llvm::Value* lanes =
      step.lanes.Mask(b_) == nullptr ? b_.I32(kAllLanes) : step.lanes.Mask(b_);
  runtime_.NoteLanes(lanes);
  LaneTranspose::Parts places;
  for (int i = 0; i < bits; i += 64) {
    places.push_back(arrays_.Spill(WordOf(elements, i, std::min(bits, 64))));
  }
  arrays_.ForEachLane(lanes, [&](llvm::Value* lane) {
    llvm::Value* to = b_.CreateLoad(
        b_.getInt64Ty(), b_.CreateGEP(b_.getInt64Ty(), addresses, lane));
    llvm::Value* whole = llvm::PoisonValue::get(
        llvm::FixedVectorType::get(word, static_cast<unsigned>(places.size())));
    for (size_t i = 0; i < places.size(); ++i) {
      whole = b_.CreateInsertElement(
          whole, b_.CreateLoad(word, b_.CreateGEP(word, places[i], lane)), i);
    }
    Mark(c_.kernel, step,
         b_.CreateAlignedStore(whole, v_.Pointer(to), llvm::Align(bits / 8),
                               /*isVolatile=*/true),
         {Kind::kListed, 0, true}, static_cast<int>(elements.size()));
  });
}

// `bits` of what the elements are side by side, from one on.
Value VectorAccess::WordOf(absl::Span<const Value> elements, int first_bit,
                           int bits) const {
  const int each = ptx::BitsOf(elements[0].type);
  llvm::Type* vector = b_.VectorOf(b_.getIntNTy(bits));
  Value word{LaneShape::Varying(), Type::kU64, {}};
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* sum = llvm::Constant::getNullValue(vector);
    for (size_t i = 0; i < elements.size(); ++i) {
      const int at = static_cast<int>(i) * each - first_bit;
      if (at + each <= 0 || at >= bits) continue;
      llvm::Value* part = b_.CreateBitCast(v_.Vector(elements[i], c),
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
Value VectorAccess::ElementOf(absl::Span<const Value> words, Type type,
                              size_t i) const {
  const int each = ptx::BitsOf(type);
  const int at = static_cast<int>(i) * each;
  llvm::Type* vector = b_.VectorOf(b_.getIntNTy(each));
  Value element{LaneShape::Varying(), type, {}};
  for (int c = 0; c < c_.chunks(); ++c) {
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

}  // namespace holdfast::software::jit
