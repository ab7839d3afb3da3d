// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/matrix.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace holdfast::software::ptx {
namespace {

constexpr int kLanes = 32;
constexpr int kRegisterBits = 32;

// The registers of a and b of a wmma of f16, whatever their sizes: GPUs of
// compute capability 7.0 hold elements several times.
constexpr size_t kHalfTileRegisters = 8;

// The number behind `letter` in a word such as "m16n8k32".
int NumberBehind(absl::string_view word, char letter) {
  word.remove_prefix(word.find(letter) + 1);
  int number = 0;
  return absl::SimpleAtoi(word.substr(0, word.find_first_not_of("0123456789")),
                          &number)
             ? number
             : 0;
}

// f64 has registers of its own size; narrower numbers share those of 32 bits.
size_t RegistersFor(int elements, Type type) {
  const int bits = BitsOf(type);
  return static_cast<size_t>(elements * bits / kLanes /
                             std::max(bits, kRegisterBits));
}

// Operand `at` of a product: d, a, b, c.
MatrixOperand ProductOperand(const Modifiers& words, size_t at) {
  const auto [rows, columns, depth] = ProductShapeOf(words);
  const ProductTypes types = ProductTypesOf(words);
  switch (at) {
    case 0:
      return {types.d, RegistersFor(rows * columns, types.d)};
    case 1:
      return {types.a, RegistersFor(rows * depth, types.a)};
    case 2:
      return {types.b, RegistersFor(depth * columns, types.b)};
    default:
      return {types.c, RegistersFor(rows * columns, types.c)};
  }
}

// The matrix that a wmma loads or stores.
MatrixOperand MovedTile(const Modifiers& words) {
  const auto [rows, columns, depth] = ProductShapeOf(words);
  const Type type = words.types[0];
  const bool is_a = words.Has(Modifier::kA), is_b = words.Has(Modifier::kB);
  const int elements = is_a ? rows * depth : (is_b ? depth : rows) * columns;
  if ((is_a || is_b) && type == Type::kF16) return {type, kHalfTileRegisters};
  return {type, RegistersFor(elements, type)};
}

MatrixOperand TileOperand(const Instruction& instruction, size_t at) {
  const Modifiers& words = instruction.modifiers;
  switch (TileActionOf(instruction)) {
    case TileAction::kLoad:
      return at == 0 ? MovedTile(words) : MatrixOperand();
    case TileAction::kStore:
      return at == 1 ? MovedTile(words) : MatrixOperand();
    case TileAction::kMultiply:
      break;
  }
  MatrixOperand operand = ProductOperand(words, at);
  if ((at == 1 || at == 2) && operand.element == Type::kF16) {
    operand.registers = kHalfTileRegisters;
  }
  return operand;
}

// The 1, 2 or 4 matrices of an ldmatrix or stmatrix.
MatrixOperand MovedMatrices(const Modifiers& words) {
  const size_t count = words.Has(Modifier::kX4)   ? 4
                       : words.Has(Modifier::kX2) ? 2
                                                  : 1;
  return {Type::kB16, count};
}

}  // namespace

ProductShape ProductShapeOf(const Modifiers& words) {
  const auto word = words.In(Modifier::kM8n8k4, Modifier::kM8n8k128);
  if (!word) return {};
  const absl::string_view spelling = SpellingOf(*word);
  return {NumberBehind(spelling, 'm'), NumberBehind(spelling, 'n'),
          NumberBehind(spelling, 'k')};
}

// A wmma of f16 names the types of d and c only.
ProductTypes ProductTypesOf(const Modifiers& words) {
  if (words.type_count == 2) {
    return {words.types[0], Type::kF16, Type::kF16, words.types[1]};
  }
  return {words.types[0], words.types[1], words.types[2], words.types[3]};
}

TileAction TileActionOf(const Instruction& instruction) {
  const absl::string_view letters = instruction.form->operands;
  return letters[0] == 'm'   ? TileAction::kStore
         : letters[1] == 'm' ? TileAction::kLoad
                             : TileAction::kMultiply;
}

MatrixOperand MatrixOperandOf(const Instruction& instruction, size_t at) {
  const Modifiers& words = instruction.modifiers;
  switch (instruction.opcode()) {
    case Opcode::kLdmatrix:
      return at == 0 ? MovedMatrices(words) : MatrixOperand();
    case Opcode::kStmatrix:
      return at == 1 ? MovedMatrices(words) : MatrixOperand();
    case Opcode::kMma:
      return ProductOperand(words, at);
    case Opcode::kWmma:
      return TileOperand(instruction, at);
    default:
      return {};
  }
}

}  // namespace holdfast::software::ptx
