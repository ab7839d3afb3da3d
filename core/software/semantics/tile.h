// SPDX-License-Identifier: Apache-2.0
//
// Tiles: the matrices that wmma loads, multiplies and stores, and the place of
// each element in the registers of a warp's lanes. PTX does not define this
// layout, so that a program can only treat all elements alike. Here, as on
// GPUs, a tile is one block or several blocks in the layout of mma
// (matrix_product.h), and a wmma.mma is one or two products of mma.
#ifndef HOLDFAST_CORE_SOFTWARE_SEMANTICS_TILE_H_
#define HOLDFAST_CORE_SOFTWARE_SEMANTICS_TILE_H_

#include <cstdint>

#include "core/software/ptx/types.h"

namespace holdfast::software {

// The number of lanes of a warp, and the numbers of lines of a short and a tall
// block. A line is a row or a column. Each lane has parts of one line of a
// short block, or of two lines of a tall block.
inline constexpr int kTileLanes = 32;
inline constexpr int kShortBlock = 8;
inline constexpr int kTallBlock = 16;

// The description of a tile.
struct Tile {
  enum class Role : uint8_t { kA, kB, kAccumulator };  // kAccumulator: c and d

  Role role = Role::kA;
  ptx::Type element = ptx::Type::kNone;
  int rows = 0;
  int columns = 0;
  bool by_columns = false;  // elements of a column are neighbours in memory

  // The number of elements of a line in memory, and the number of lines. A line
  // in memory is a row or column whose elements are neighbours.
  int line_elements() const { return by_columns ? rows : columns; }
  int lines() const { return by_columns ? columns : rows; }
};

// Pack the tile into one word, for calls from generated code, and back.
uint32_t PackTile(const Tile& tile);
Tile UnpackTile(uint32_t option);

// Returns the number of elements in a register. An f64 has a register of 64
// bits; narrower numbers share 32 bits.
int TileParts(const Tile& tile);
// Returns the number of registers in each lane that have all elements once.
int TileRegisters(const Tile& tile);

// Returns the alignment, in bytes, of the start of each line in memory. The
// bytes of a line are a multiple of it. PTX requires the size of a lane's
// registers. The guide for CUDA C++ requires only 16 bytes, so that the result
// is at most 16.
int TileAlignment(const Tile& tile);

// The place of an element in the matrix.
struct TilePlace {
  int row;
  int column;
};

// Returns the place in the matrix of element `part` of register number
// `at_register` of `lane`.
TilePlace PlaceOf(const Tile& tile, int at_register, int lane, int part);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_SEMANTICS_TILE_H_
