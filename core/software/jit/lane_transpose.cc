// SPDX-License-Identifier: Apache-2.0
//
// Two or four elements a lane come from memory as {a0 b0 c0 d0}, {a1 b1 c1 d1},
// ...; operations want {a0 a1 ...}, {b0 b1 ...}. With shuffles of whole vectors
// that is a transposition of a matrix of lanes by elements, in log2(4) = 2
// steps for four. A gather for each element would read each line of the cache
// as often as there are elements.
#include "core/software/jit/lane_transpose.h"

namespace holdfast::software::jit {

namespace {

// [first, first + step, ...], `count` of them.
llvm::SmallVector<int, 32> Every(int first, int step, int count) {
  llvm::SmallVector<int, 32> order;
  for (int i = 0; i < count; ++i) order.push_back(first + i * step);
  return order;
}

}  // namespace

// {a0 b0 a1 b1 ..., ...} -> {a0 a1 ..., b0 b1 ...}, of a chunk.
LaneTranspose::Parts LaneTranspose::SplitPairs(
    llvm::ArrayRef<llvm::Value*> halves) const {
  return {b_.CreateShuffleVector(halves[0], halves[1], Every(0, 2, lanes_)),
          b_.CreateShuffleVector(halves[0], halves[1], Every(1, 2, lanes_))};
}

// The reverse of SplitPairs.
LaneTranspose::Parts LaneTranspose::JoinPairs(
    llvm::ArrayRef<llvm::Value*> parts) const {
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
// A 4x4 transposition in two steps: `zip` interleaves parts 0 with 1 and 2 with
// 3, {a0 a1 b0 b1}, and `pair` joins halves of two such. All squares of a
// vector go at once. It is its own inverse.
LaneTranspose::Parts LaneTranspose::TransposeSquares(
    llvm::ArrayRef<llvm::Value*> parts) const {
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
LaneTranspose::Parts LaneTranspose::SplitFours(
    llvm::ArrayRef<llvm::Value*> groups) const {
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
  return TransposeSquares(parts);
}

// The reverse of SplitFours.
LaneTranspose::Parts LaneTranspose::JoinFours(
    llvm::ArrayRef<llvm::Value*> parts) const {
  const Parts turned = TransposeSquares(parts);
  Parts groups;
  for (int lane = 0; lane < lanes_; ++lane) {
    groups.push_back(
        b_.CreateShuffleVector(turned[lane % 4], Every(lane / 4 * 4, 1, 4)));
  }
  return groups;
}

}  // namespace holdfast::software::jit
