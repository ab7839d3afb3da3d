// SPDX-License-Identifier: Apache-2.0
//
// Instructions are built from the words that PTX text would have, and so are
// rows of the table of forms (ptx/forms.inc), as those of a program are: the
// emitters need not know which is which.
#include "core/software/transform/instruction_builder.h"

#include "absl/strings/str_split.h"

namespace holdfast::software::transform {

using ptx::Instruction;
using ptx::Operand;
using ptx::Type;

Operand RegisterOperand(uint32_t index) {
  Operand operand;
  operand.kind = Operand::Kind::kRegister;
  operand.index = index;
  return operand;
}

Operand IntegerOperand(uint64_t bits) {
  Operand operand;
  operand.kind = Operand::Kind::kInteger;
  operand.bits = bits;
  return operand;
}

Operand LabelOperand(uint32_t index) {
  Operand operand;
  operand.kind = Operand::Kind::kLabel;
  operand.index = index;
  return operand;
}

Operand MemoryOperand(uint32_t index, int64_t offset) {
  Operand operand = RegisterOperand(index);
  operand.memory = true;
  operand.offset = offset;
  return operand;
}

Operand VariableOperand(uint32_t index, int64_t offset) {
  Operand operand = MemoryOperand(index, offset);
  operand.kind = Operand::Kind::kLocalVariable;
  return operand;
}

uint32_t Builder::NewRegister(absl::string_view name, Type type) {
  function_.registers.push_back({std::string(name), type});
  return static_cast<uint32_t>(function_.registers.size()) - 1;
}

uint32_t Builder::NewLabel() {
  function_.labels.emplace_back();
  return static_cast<uint32_t>(function_.labels.size()) - 1;
}

void Builder::Place(uint32_t label) {
  function_.labels[label].instruction =
      static_cast<int64_t>(function_.body.size());
}

Instruction& Builder::Add(absl::string_view text,
                          std::vector<Operand> operands) {
  std::vector<absl::string_view> words = absl::StrSplit(text, '.');
  const absl::string_view opcode = words[0];
  words.erase(words.begin());
  Instruction instruction;
  instruction.form = ptx::MatchForm(opcode, words, &instruction.modifiers);
  instruction.operands = std::move(operands);
  if (at_ != nullptr) {
    instruction.location = at_->location;
    instruction.source = at_->source;
  }
  function_.body.push_back(std::move(instruction));
  return function_.body.back();
}

void Builder::Branch(uint32_t label) { Add("bra", {LabelOperand(label)}); }

void Builder::BranchIf(uint32_t predicate, bool holds, uint32_t label) {
  Instruction& branch = Add("bra", {LabelOperand(label)});
  branch.guard = RegisterOperand(predicate);
  branch.guard.negated = !holds;
}

void Builder::Switch(uint32_t value,
                     const std::vector<std::pair<uint32_t, uint32_t>>& labels) {
  Switch(value, labels, 0, labels.size());
}

// A binary search by comparisons, log2(n) deep. A value that is not in the list
// ends up at one of the labels as well, so that control stays in the kernel
// whatever the value is.
void Builder::Switch(uint32_t value,
                     const std::vector<std::pair<uint32_t, uint32_t>>& labels,
                     size_t begin, size_t end) {
  if (end - begin == 1) return Branch(labels[begin].second);
  const size_t middle = begin + (end - begin) / 2;
  const uint32_t less = NewRegister("less", Type::kPred);
  const uint32_t low = NewLabel();
  Add("setp.lt.u32", {RegisterOperand(less), RegisterOperand(value),
                      IntegerOperand(labels[middle].first)});
  BranchIf(less, true, low);
  Switch(value, labels, middle, end);
  Place(low);
  Switch(value, labels, begin, middle);
}

}  // namespace holdfast::software::transform
