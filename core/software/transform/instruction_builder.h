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
// The operand [register + offset].
ptx::Operand MemoryOperand(uint32_t index, int64_t offset);
// The operand [variable of the function + offset].
ptx::Operand VariableOperand(uint32_t index, int64_t offset);

// Appends instructions to a function. A reference to an added instruction is
// valid until the next instruction is added.
class Builder {
 public:
  explicit Builder(ptx::Function* function) : function_(*function) {}

  // Gives the location of `at`, an original instruction, to the instructions
  // that are added next, so that messages name its line. `at` must live until
  // the next call of At or the end of the builder.
  void At(const ptx::Instruction& at) { at_ = &at; }

  // Adds a register, and returns its index. The name is only for messages, and
  // need not be unique.
  uint32_t NewRegister(absl::string_view name, ptx::Type type);
  // Adds a label without a place, and returns its index. See Place.
  uint32_t NewLabel();
  // Places the label before the next added instruction.
  void Place(uint32_t label);

  // Adds an instruction, and returns it. `text` is an opcode with its words,
  // such as "add.u64". REQUIRES: the table of forms has `text`.
  ptx::Instruction& Add(absl::string_view text,
                        std::vector<ptx::Operand> operands);
  void Branch(uint32_t label);
  // Adds a branch that is taken if the predicate equals `holds`.
  void BranchIf(uint32_t predicate, bool holds, uint32_t label);
  // Adds a branch to the label whose number in `labels` is equal to the u32
  // register `value`. If no number is equal, the branch goes to the label of
  // the greatest smaller number, or to the first label if there is none. The
  // added code makes a binary search with log2(n) comparisons. REQUIRES: the
  // numbers increase, and `labels` is not empty.
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
