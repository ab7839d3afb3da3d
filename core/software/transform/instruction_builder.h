// SPDX-License-Identifier: Apache-2.0
//
// Builds instructions that lowering adds to functions.
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

// Appends instructions to a function. `at` is the original instruction, so that
// messages name its line. A pointer to an instruction is valid until the next
// one is added.
class Builder {
 public:
  explicit Builder(ptx::Function* function) : function_(*function) {}

  // Borrowed until the next call or the builder's end.
  void At(const ptx::Instruction& at) { at_ = &at; }

  // The name is for messages only; it need not be unique.
  uint32_t NewRegister(absl::string_view name, ptx::Type type);
  // Makes a label without a place; see Place.
  uint32_t NewLabel();
  // Places the label before the next added instruction.
  void Place(uint32_t label);

  // `text` is an opcode with its words: "add.u64". REQUIRES: the table of forms
  // has it.
  ptx::Instruction& Add(absl::string_view text,
                        std::vector<ptx::Operand> operands);
  void Branch(uint32_t label);
  // Adds a branch that is taken if the predicate equals `holds`.
  void BranchIf(uint32_t predicate, bool holds, uint32_t label);
  // Branches to the label of the value of a u32 register; to the last label if
  // no value matches. A binary search with log2(n) comparisons. REQUIRES: the
  // values increase.
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
