// SPDX-License-Identifier: Apache-2.0
//
// A lane names the matrix, not its own elements. So the runtime finds the
// elements of each lane, tests their addresses, and moves them
// (core/software/runtime/tile.cc). A product of tiles is made of products of
// blocks (core/software/semantics/tile.h), which the runtime computes as for
// mma. The registers of a tile's blocks follow each other.
#include "core/software/jit/tile_emitter.h"

#include "core/software/abi/abi.h"
#include "core/software/jit/spaces.h"
#include "core/software/ptx/matrix.h"
#include "core/software/semantics/matrix_product.h"
#include "core/software/semantics/tile.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Operand;
using ptx::Type;

namespace {

constexpr size_t kStrideOperand = 2;

Tile TileOf(const Instruction& instruction) {
  const ptx::Modifiers& words = instruction.modifiers;
  const ptx::ProductShape shape = ptx::ProductShapeOf(words);
  Tile tile;
  tile.element = instruction.type();
  tile.by_columns = words.Has(Modifier::kCol);
  tile.role = words.Has(Modifier::kA)   ? Tile::Role::kA
              : words.Has(Modifier::kB) ? Tile::Role::kB
                                        : Tile::Role::kAccumulator;
  tile.rows = tile.role == Tile::Role::kB ? shape.depth : shape.rows;
  tile.columns = tile.role == Tile::Role::kA ? shape.depth : shape.columns;
  return tile;
}

MatrixProduct::Term TermOf(const ptx::Modifiers& words) {
  if (words.Has(Modifier::kXor)) return MatrixProduct::Term::kXor;
  if (words.Has(Modifier::kAnd)) return MatrixProduct::Term::kAnd;
  return MatrixProduct::Term::kProduct;
}

uint32_t RoundingOf(const ptx::Modifiers& words) {
  const auto rounding = words.In(Modifier::kRn, Modifier::kRp);
  return rounding ? static_cast<uint32_t>(*rounding) -
                        static_cast<uint32_t>(Modifier::kRn)
                  : 0;
}

// The registers of a block.
size_t BlockRegisters(int lines, int places, Type type) {
  const Tile tile{Tile::Role::kA, type, lines, places, false};
  return static_cast<size_t>(TileRegisters(tile));
}

}  // namespace

// The factors of a product, and how many blocks each has. The first factor is
// the factor whose blocks have more lines.
struct TileEmitter::Blocks {
  size_t first_operand;
  size_t second_operand;
  MatrixProduct product;  // of two blocks
  size_t first_count;
  size_t second_count;

  // The registers of a block of each factor, and of c or d.
  size_t of_first() const {
    return BlockRegisters(product.rows, product.depth, product.a);
  }
  size_t of_second() const {
    return BlockRegisters(kShortBlock, product.depth, product.b);
  }
  size_t of_sums(Type type) const {
    return BlockRegisters(product.rows, kShortBlock, type);
  }
};

struct TileEmitter::Arrays {
  llvm::AllocaInst* first;
  llvm::AllocaInst* second;
  llvm::AllocaInst* addend;
  llvm::AllocaInst* result;
};

TileEmitter::Blocks TileEmitter::BlocksOf(const ptx::Modifiers& words) {
  const ptx::ProductShape shape = ptx::ProductShapeOf(words);
  const ptx::ProductTypes types = ptx::ProductTypesOf(words);
  const bool transposed = shape.columns > shape.rows;
  const int lines = transposed ? shape.columns : shape.rows;
  Blocks blocks{transposed ? size_t{2} : size_t{1},
                transposed ? size_t{1} : size_t{2},
                {},
                1,
                1};
  blocks.product.rows = lines < kTallBlock ? kShortBlock : kTallBlock;
  blocks.product.depth = shape.depth;
  blocks.product.a = transposed ? types.b : types.a;
  blocks.product.b = transposed ? types.a : types.b;
  blocks.product.c = types.c;
  blocks.product.d = types.d;
  blocks.product.term = TermOf(words);
  blocks.product.saturate = words.Has(Modifier::kSatfinite);
  blocks.product.rounding = RoundingOf(words);
  blocks.first_count = static_cast<size_t>(lines / blocks.product.rows);
  blocks.second_count = static_cast<size_t>(
      (transposed ? shape.rows : shape.columns) / kShortBlock);
  return blocks;
}

void TileEmitter::Emit(const Step& step) {
  switch (ptx::TileActionOf(step.instruction)) {
    case ptx::TileAction::kLoad:
      return EmitLoad(step);
    case ptx::TileAction::kStore:
      return EmitStore(step);
    case ptx::TileAction::kMultiply:
      return EmitProduct(step);
  }
}

void TileEmitter::EmitLoad(const Step& step) {
  const auto& operands = step.instruction.operands;
  const Tile tile = TileOf(step.instruction);
  const Type word = RegisterArrays::WordOf(tile.element);
  llvm::AllocaInst* registers = registers_.Make();
  Move(step, "holdfast_load_tile", operands[1], registers);
  registers_.Take(step, RegistersOf(operands[0]), word, registers,
                  static_cast<size_t>(TileRegisters(tile)));
}

void TileEmitter::EmitStore(const Step& step) {
  const auto& operands = step.instruction.operands;
  llvm::AllocaInst* registers =
      registers_.Spill(step, RegistersOf(operands[1]),
                       RegisterArrays::WordOf(step.instruction.type()));
  Move(step, "holdfast_store_tile", operands[0], registers);
  registers_.End(registers);
}

void TileEmitter::Move(const Step& step, const char* function,
                       const Operand& matrix,
                       llvm::AllocaInst* registers) const {
  const ptx::Space space = SpaceOf(step.instruction);
  runtime_.SpillAddresses(addresses_.Of(step, matrix, space));
  llvm::Value* stride = StrideOf(step);
  runtime_.NoteInstruction(step);
  const auto room = space == ptx::Space::kShared ? AddressRoom::kShared
                                                 : AddressRoom::kWindow;
  runtime_.Call(
      function, b_.getVoidTy(),
      {step.lanes.MaskOrAll(b_), b_.I32(PackTile(TileOf(step.instruction))),
       stride, b_.I32(static_cast<uint32_t>(room)), registers});
}

// All lanes name the same stride. Without one, lines follow each other.
llvm::Value* TileEmitter::StrideOf(const Step& step) const {
  const auto& operands = step.instruction.operands;
  if (operands.size() <= kStrideOperand) {
    return b_.I32(
        static_cast<uint32_t>(TileOf(step.instruction).line_elements()));
  }
  const Value stride =
      operands_.Read(step.lanes, operands[kStrideOperand], Type::kB32);
  if (stride.shape.uniform()) return stride.parts[0];
  // Lane 31 is read if no lane runs.
  return arrays_.OfFirstLane(
      stride, b_.CreateOr(step.lanes.MaskOrAll(b_), b_.I32(uint32_t{1} << 31)));
}

// A factor may name more registers than its elements need (ptx/matrix.cc). Only
// the registers that hold each element once are read.
void TileEmitter::EmitProduct(const Step& step) {
  const auto& operands = step.instruction.operands;
  const Blocks blocks = BlocksOf(step.instruction.modifiers);
  const Type word = RegisterArrays::WordOf(blocks.product.d);
  const auto spill = [&](size_t operand, size_t count) {
    return registers_.Spill(step, RegistersOf(operands[operand]).first(count),
                            word);
  };
  const auto results = RegistersOf(operands[0]);
  const Arrays arrays = {
      spill(blocks.first_operand, blocks.of_first() * blocks.first_count),
      spill(blocks.second_operand, blocks.of_second() * blocks.second_count),
      registers_.Spill(step, RegistersOf(operands[3]), word),
      registers_.Make()};
  MultiplyBlocks(blocks, arrays);
  for (llvm::AllocaInst* source :
       {arrays.first, arrays.second, arrays.addend}) {
    registers_.End(source);
  }
  registers_.Take(step, results, word, arrays.result, results.size());
}

// One factor has a single block, and the other factor has as many blocks as the
// result.
void TileEmitter::MultiplyBlocks(const Blocks& blocks,
                                 const Arrays& arrays) const {
  const MatrixProduct& product = blocks.product;
  const Type word = RegisterArrays::WordOf(product.d);
  for (size_t i = 0; i < blocks.first_count * blocks.second_count; ++i) {
    const auto at = [&](llvm::AllocaInst* array, size_t block, size_t size) {
      return registers_.At(array, block * size, word);
    };
    runtime_.Call(
        "holdfast_multiply_matrices", b_.getVoidTy(),
        {b_.getInt64(PackMatrixProduct(product)),
         at(arrays.first, i % blocks.first_count, blocks.of_first()),
         at(arrays.second, i % blocks.second_count, blocks.of_second()),
         at(arrays.addend, i, blocks.of_sums(product.c)),
         at(arrays.result, i, blocks.of_sums(product.d))});
  }
}

}  // namespace holdfast::software::jit
