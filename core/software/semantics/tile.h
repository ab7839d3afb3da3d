// SPDX-License-Identifier: Apache-2.0
//
// The matrices that wmma loads, multiplies and stores, and where the lanes of a
// warp hold them. PTX leaves that open, and programs may only treat all
// elements alike. Here a tile is one block, or several, of the layout that mma
// has (matrix_product.h), as on GPUs: wmma.mma is one mma, or two.
#ifndef HOLDFAST_CORE_SOFTWARE_SEMANTICS_TILE_H_
#define HOLDFAST_CORE_SOFTWARE_SEMANTICS_TILE_H_

#include <cstdint>

#include "core/software/ptx/types.h"

namespace holdfast::software {

// The lanes of a warp, and the lines of a block: its rows or columns, of which
// each lane holds parts of one or two.
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

  // A row, or a column, that is contiguous in memory.
  int line_elements() const { return by_columns ? rows : columns; }
  int lines() const { return by_columns ? columns : rows; }
};

// Packs the tile into one word, for calls from generated code.
uint32_t PackTile(const Tile& tile);
Tile UnpackTile(uint32_t option);

// Returns the number of elements in a register: those of f64 have registers of
// their own size, and narrower numbers share 32 bits.
int TileParts(const Tile& tile);
// Returns the number of registers of a lane that hold all elements once.
int TileRegisters(const Tile& tile);

// Returns the boundary, in bytes, on which each line must lie: the size of the
// registers of a lane, which PTX asks for, but at most the 16 bytes that the
// guide for CUDA C++ asks for.
int TileAlignment(const Tile& tile);

struct TilePlace {
  int row;
  int column;
};

// Returns the place of an element: element `part` of a register of a lane.
TilePlace PlaceOf(const Tile& tile, int at_register, int lane, int part);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_SEMANTICS_TILE_H_
