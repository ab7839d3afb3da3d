// SPDX-License-Identifier: Apache-2.0
//
// Instructions that no text holds, for what lowering puts into functions.
#ifndef HOLDFAST_CORE_SOFTWARE_TRANSFORM_INSTRUCTION_BUILDER_H_
#define HOLDFAST_CORE_SOFTWARE_TRANSFORM_INSTRUCTION_BUILDER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::transform {

ptx::Operand RegisterOperand(uint32_t index);
ptx::Operand IntegerOperand(uint64_t bits);
ptx::Operand LabelOperand(uint32_t index);
// [register + offset]
ptx::Operand MemoryOperand(uint32_t index, int64_t offset);
// [variable of the function + offset]
ptx::Operand VariableOperand(uint32_t index, int64_t offset);

// Appends to a function. `at` is the instruction that the new ones stand for,
// so that messages name its line. Pointers to instructions are valid until the
// next is added.
class Builder {
 public:
  explicit Builder(ptx::Function* function) : function_(*function) {}

  // Borrowed until the next call or the builder's end.
  void At(const ptx::Instruction& at) { at_ = &at; }

  // The name is for messages only; it need not be unique.
  uint32_t NewRegister(absl::string_view name, ptx::Type type);
  // Has no place yet; see Place.
  uint32_t NewLabel();
  // In front of the next instruction that is added.
  void Place(uint32_t label);

  // `text` is an opcode with its words: "add.u64". REQUIRES: the table of forms
  // has it.
  ptx::Instruction& Add(absl::string_view text,
                        std::vector<ptx::Operand> operands);
  void Branch(uint32_t label);
  // Taken if the predicate is `holds`.
  void BranchIf(uint32_t predicate, bool holds, uint32_t label);
  // To the label that belongs to the value of a u32 register; to the last one
  // if there is none. The values must grow. A binary search: log2(n)
  // comparisons deep.
  void Switch(uint32_t value,
              const std::vector<std::pair<uint32_t, uint32_t>>& labels);

 private:
  void Switch(uint32_t value,
              const std::vector<std::pair<uint32_t, uint32_t>>& labels,
              size_t begin, size_t end);

  ptx::Function& function_;
  const ptx::Instruction* at_ = nullptr;
};

}  // namespace holdfast::software::transform

#endif  // HOLDFAST_CORE_SOFTWARE_TRANSFORM_INSTRUCTION_BUILDER_H_
