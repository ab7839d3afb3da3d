// SPDX-License-Identifier: Apache-2.0
//
// wmma.load and wmma.store, for generated code (abi.h): one lane after the
// other. The lines of the whole matrix are tested first; then each lane moves
// its own elements. All lanes should name the same matrix. PTX does not define
// the result if they name several; here each lane moves its elements of the
// matrix that it names.
#include "core/software/semantics/tile.h"

#include <bit>
#include <cstring>
#include <optional>

#include "core/software/abi/abi.h"
#include "core/software/runtime/address_check.h"
#include "core/software/runtime/kernel_fault.h"

namespace holdfast::software {
namespace {

constexpr int64_t kByteBits = 8;

// A matrix in memory, as a lane names it.
struct TileMemory {
  const Tile& tile;
  uint64_t address;
  int64_t stride;  // elements from line to line

  uint32_t LineBytes() const {
    return static_cast<uint32_t>(tile.line_elements() *
                                 ptx::BitsOf(tile.element) / kByteBits);
  }
  // How many bits behind `address` a line begins.
  int64_t LineBits(int line) const {
    return line * stride * ptx::BitsOf(tile.element);
  }
  // Where an element begins. REQUIRES: all lines are good.
  uint64_t AddressOf(const TilePlace& place) const {
    const int line = tile.by_columns ? place.column : place.row;
    const int in_line = tile.by_columns ? place.row : place.column;
    const int64_t bits =
        LineBits(line) + int64_t{in_line} * ptx::BitsOf(tile.element);
    return address + static_cast<uint64_t>(bits / kByteBits);
  }
};

// The first part of the line that the kernel may not access, as a fault of
// `lanes`. A part has the bytes of the line's boundary.
std::optional<KernelFault> LineFault(const WorkerContext& worker,
                                     const TileMemory& memory, int line,
                                     AddressRoom room, uint32_t lanes) {
  using Kind = KernelFault::Kind;
  const auto boundary = static_cast<uint32_t>(TileAlignment(memory.tile));
  const int64_t bits = memory.LineBits(line);
  const uint64_t begin =
      memory.address + static_cast<uint64_t>(bits / kByteBits);
  for (uint32_t part = 0; part < memory.LineBytes(); part += boundary) {
    Kind kind = AccessFault(worker, {boundary, room}, begin + part);
    if (kind == Kind::kNone && bits % kByteBits != 0) kind = Kind::kMisaligned;
    if (kind != Kind::kNone) {
      return KernelFault{kind, begin + part, lanes, boundary};
    }
  }
  return std::nullopt;
}

// The fault of the first line that has one.
std::optional<KernelFault> FaultOf(const WorkerContext& worker,
                                   const TileMemory& memory, AddressRoom room,
                                   uint32_t lanes) {
  for (int line = 0; line < memory.tile.lines(); ++line) {
    const auto fault = LineFault(worker, memory, line, room, lanes);
    if (fault) return fault;
  }
  return std::nullopt;
}

// Calls move(memory, bits, bytes) for the parts of a register that are
// neighbours in memory: for all together, or for each. `bits` says where they
// begin in the register.
template <typename Move>
void ForEachRun(const TileMemory& memory, int at_register, int lane,
                Move move) {
  const Tile& tile = memory.tile;
  const int parts = TileParts(tile);
  const int bits = ptx::BitsOf(tile.element);
  const TilePlace first = PlaceOf(tile, at_register, lane, 0);
  const TilePlace last = PlaceOf(tile, at_register, lane, parts - 1);
  const bool together =
      tile.by_columns ? first.column == last.column : first.row == last.row;
  if (together) {
    move(memory.AddressOf(first), 0, parts * bits / 8);
    return;
  }
  for (int part = 0; part < parts; ++part) {
    move(memory.AddressOf(PlaceOf(tile, at_register, lane, part)), part * bits,
         bits / 8);
  }
}

// A register of a lane, in an array of registers of 32 lanes.
uint8_t* RegisterAt(const Tile& tile, void* registers, int at_register,
                    int lane) {
  const int bytes = TileParts(tile) * ptx::BitsOf(tile.element) / 8;
  return static_cast<uint8_t*>(registers) +
         ptrdiff_t{at_register * kTileLanes + lane} * bytes;
}

// Calls move(place in memory, place in the registers, bytes).
template <typename Move>
void MoveLane(const TileMemory& memory, int lane, void* registers, Move move) {
  for (int r = 0; r < TileRegisters(memory.tile); ++r) {
    uint8_t* word = RegisterAt(memory.tile, registers, r, lane);
    ForEachRun(memory, r, lane, [&](uint64_t address, int bits, int bytes) {
      move(reinterpret_cast<uint8_t*>(address), word + bits / 8, bytes);
    });
  }
}

// The part of an access that is the same for loads and stores.
template <typename Move>
void MoveTile(WorkerContext* worker, uint32_t lanes, uint32_t packed,
              int32_t stride, AddressRoom room, void* registers, Move move) {
  const Tile tile = UnpackTile(packed);
  std::optional<uint64_t> tested;
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const TileMemory memory{tile, worker->addresses[lane], stride};
    std::optional<KernelFault> fault;
    if (tested != memory.address) fault = FaultOf(*worker, memory, room, rest);
    tested = memory.address;
    if (!fault) {
      const auto address =
          TryAccess([&] { MoveLane(memory, lane, registers, move); });
      if (!address) continue;
      fault = {KernelFault::Kind::kAddress, *address, uint32_t{1} << lane};
    }
    LeaveKernel(*worker, *fault);
  }
}

}  // namespace

extern "C" {

void holdfast_load_tile(WorkerContext* worker, uint32_t lanes, uint32_t tile,
                        int32_t stride, AddressRoom room, void* registers) {
  MoveTile(worker, lanes, tile, stride, room, registers,
           [](const uint8_t* memory, uint8_t* place, int bytes) {
             std::memcpy(place, memory, static_cast<size_t>(bytes));
           });
}

void holdfast_store_tile(WorkerContext* worker, uint32_t lanes, uint32_t tile,
                         int32_t stride, AddressRoom room, void* registers) {
  MoveTile(worker, lanes, tile, stride, room, registers,
           [](uint8_t* memory, const uint8_t* place, int bytes) {
             std::memcpy(memory, place, static_cast<size_t>(bytes));
           });
}

}  // extern "C"

}  // namespace holdfast::software
