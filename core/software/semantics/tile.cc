// SPDX-License-Identifier: Apache-2.0
//
// The comment of matrix_product.cc says which lane has which element of a
// block. A block of a, or of the result, has 16 rows if the tile has 16 rows or
// more, else 8; a block of b has 8 columns. A product of 8 rows and 32 columns
// is computed as the product of the transposed tiles, b * a, whose result has
// 32 rows and 8 columns.
#include "core/software/semantics/tile.h"

#include <algorithm>

namespace holdfast::software {
namespace {

using ptx::Type;
using Role = Tile::Role;

constexpr int kWide = 32;
constexpr int kRegisterBits = 32;
constexpr int kMostAlignment = 16;
constexpr int kGroups = 4;  // lanes that hold one line together

bool IsTransposed(const Tile& tile) {
  return tile.columns == kWide && tile.role != Role::kA;
}

// Returns true if a block has 16 lines.
bool IsTall(const Tile& tile) {
  return IsTransposed(tile) ||
         (tile.rows >= kTallBlock && tile.role != Role::kB);
}

// The place of an element in a, or in b transposed: a line, and a place along
// the depth of the product.
struct Factor {
  int line;
  int place;
};

Factor FactorPlace(const Tile& tile, int at_register, int lane, int part) {
  const bool tall = IsTall(tile);
  const int depth = tile.role == Role::kA ? tile.columns : tile.rows;
  const int parts = TileParts(tile);
  const int lines = tall ? kTallBlock : kShortBlock;
  const int in_block = lines * depth / (kTileLanes * parts);
  const int block = at_register / in_block, r = at_register % in_block;
  const int step = tall ? r >> 1 : r;
  return {block * lines + lane / kGroups + (tall ? kShortBlock * (r & 1) : 0),
          lane % kGroups * parts + part + step * kGroups * parts};
}

TilePlace AccumulatorPlace(const Tile& tile, int at_register, int lane,
                           int part) {
  const int in_block = IsTall(tile) ? 4 : 2;
  const int element = at_register * TileParts(tile) + part;
  const int block = element / in_block, e = element % in_block;
  const int line = lane / kGroups + kShortBlock * (e / 2);
  const int place = lane % kGroups * 2 + e % 2;
  if (IsTransposed(tile)) return {place, block * kTallBlock + line};
  // Several blocks lie side by side, or below each other if they are as wide as
  // the tile.
  if (tile.columns > kShortBlock) return {line, block * kShortBlock + place};
  return {block * kTallBlock + line, place};
}

}  // namespace

uint32_t PackTile(const Tile& tile) {
  return static_cast<uint32_t>(tile.role) |
         static_cast<uint32_t>(tile.element) << 2 |
         static_cast<uint32_t>(tile.rows) << 8 |
         static_cast<uint32_t>(tile.columns) << 16 |
         uint32_t{tile.by_columns} << 24;
}

Tile UnpackTile(uint32_t option) {
  Tile tile;
  tile.role = static_cast<Role>(option & 3);
  tile.element = static_cast<Type>(option >> 2 & 63);
  tile.rows = static_cast<int>(option >> 8 & 255);
  tile.columns = static_cast<int>(option >> 16 & 255);
  tile.by_columns = (option >> 24 & 1) != 0;
  return tile;
}

int TileParts(const Tile& tile) {
  return std::max(1, kRegisterBits / ptx::BitsOf(tile.element));
}

int TileRegisters(const Tile& tile) {
  return tile.rows * tile.columns / (kTileLanes * TileParts(tile));
}

// A lane's registers for f16 hold elements of a and b several times.
int TileAlignment(const Tile& tile) {
  if (tile.element == Type::kF16) return kMostAlignment;
  const int bytes =
      tile.rows * tile.columns * ptx::BitsOf(tile.element) / (kTileLanes * 8);
  return std::min(bytes, kMostAlignment);
}

TilePlace PlaceOf(const Tile& tile, int at_register, int lane, int part) {
  if (tile.role == Role::kAccumulator) {
    return AccumulatorPlace(tile, at_register, lane, part);
  }
  const Factor factor = FactorPlace(tile, at_register, lane, part);
  if (tile.role == Role::kA) return {factor.line, factor.place};
  return {factor.place, factor.line};
}

}  // namespace holdfast::software
