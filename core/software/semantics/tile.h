// SPDX-License-Identifier: Apache-2.0
//
// Tiles: the matrices that wmma loads, multiplies and stores, and which lane of
// a warp holds which element. PTX leaves the layout open, so that a program can
// only treat all elements alike. Here, as on GPUs, a tile is one block or
// several blocks in the layout of mma (matrix_product.h), and a wmma.mma is one
// mma or two.
#ifndef HOLDFAST_CORE_SOFTWARE_SEMANTICS_TILE_H_
#define HOLDFAST_CORE_SOFTWARE_SEMANTICS_TILE_H_

#include <cstdint>

#include "core/software/ptx/types.h"

namespace holdfast::software {

// The lanes of a warp, and the lines of a block. Lines are rows or columns;
// each lane holds parts of one line of a short block, or of two of a tall
// block.
inline constexpr int kTileLanes = 32;
inline constexpr int kShortBlock = 8;
inline constexpr int kTallBlock = 16;

struct Tile {
  enum class Role : uint8_t { kA, kB, kAccumulator };  // kAccumulator: c and d

  Role role = Role::kA;
  ptx::Type element = ptx::Type::kNone;
  int rows = 0;
  int columns = 0;
  bool by_columns = false;  // elements of a column are neighbours in memory

  // The elements of a line, which is a row or column that is contiguous in
  // memory, and the number of lines.
  int line_elements() const { return by_columns ? rows : columns; }
  int lines() const { return by_columns ? columns : rows; }
};

// Packs the tile into one word, for calls from generated code.
uint32_t PackTile(const Tile& tile);
Tile UnpackTile(uint32_t option);

// Returns the number of elements in a register. An f64 has a register of 64
// bits; narrower numbers share 32 bits.
int TileParts(const Tile& tile);
// Returns the number of registers of a lane that hold all elements once.
int TileRegisters(const Tile& tile);

// Returns the boundary, in bytes, on which each line must begin; a line's bytes
// are a multiple of it. PTX requires the size of a lane's registers; the guide
// for CUDA C++ requires only 16 bytes, so the boundary is not larger.
int TileAlignment(const Tile& tile);

struct TilePlace {
  int row;
  int column;
};

// Returns the place of an element: element `part` of a register of a lane.
TilePlace PlaceOf(const Tile& tile, int at_register, int lane, int part);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_SEMANTICS_TILE_H_
