// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/matrix.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace holdfast::software::ptx {
namespace {

constexpr int kLanes = 32;
constexpr int kRegisterBits = 32;

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
  return static_cast<size_t>(elements / kLanes * bits /
                             std::max(bits, kRegisterBits));
}

size_t ProductRegisters(const Modifiers& words, size_t at) {
  const auto [rows, depth] = ProductShapeOf(words);
  switch (at) {
    case 1:
      return RegistersFor(rows * depth, words.types[1]);
    case 2:
      return RegistersFor(depth * kProductColumns, words.types[2]);
    default:
      return RegistersFor(rows * kProductColumns, words.types[at == 0 ? 0 : 3]);
  }
}

// 1, 2 or 4.
int MovedMatrices(const Modifiers& words) {
  return words.Has(Modifier::kX4) ? 4 : words.Has(Modifier::kX2) ? 2 : 1;
}

}  // namespace

ProductShape ProductShapeOf(const Modifiers& words) {
  const auto word = words.In(Modifier::kM8n8k4, Modifier::kM16n8k64);
  if (!word) return {};
  const absl::string_view spelling = SpellingOf(*word);
  return {NumberBehind(spelling, 'm'), NumberBehind(spelling, 'k')};
}

size_t MatrixRegisters(const Instruction& instruction, size_t at) {
  const Modifiers& words = instruction.modifiers;
  switch (instruction.opcode()) {
    case Opcode::kLdmatrix:
      return at == 0 ? static_cast<size_t>(MovedMatrices(words)) : 0;
    case Opcode::kStmatrix:
      return at == 1 ? static_cast<size_t>(MovedMatrices(words)) : 0;
    case Opcode::kMma:
      return ProductRegisters(words, at);
    default:
      return 0;
  }
}

}  // namespace holdfast::software::ptx
