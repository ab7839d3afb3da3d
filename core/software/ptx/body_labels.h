// SPDX-License-Identifier: Apache-2.0
//
// Collects the labels of a function's body. A scope has labels of its own, and
// a branch may name a label that is defined later.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_BODY_LABELS_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_BODY_LABELS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::ptx {

// A collection of labels, numbered by their index in Function::labels. A label
// that a scope uses but does not define belongs to the enclosing scope. This is
// known only when the scope ends. So one label may have several numbers until
// Finish().
class BodyLabels {
 public:
  // Labels are added to `function`, which must outlive this object. The
  // outermost scope is open.
  explicit BodyLabels(Function& function) : function_(function), scopes_(1) {}

  // Begin and end a scope. Close moves the undefined labels of the scope to the
  // enclosing scope. It does nothing for the outermost scope.
  void Open() { scopes_.emplace_back(); }
  void Close();

  // Returns an operand for the label with this name in the innermost scope.
  // `use` is the place where the text names the label.
  Operand Named(absl::string_view name, Location use);
  // Define a label. After Define, the label stands for the instruction that is
  // read next; returns false if the label is already defined. After
  // DefineTargets, it stands for a list of labels, for brx.idx.
  bool Define(absl::string_view name, Location location);
  void DefineTargets(absl::string_view name, Location location,
                     std::vector<uint32_t> targets);

  // Gives each label one number in all instructions and lists. Must be called
  // once, at the end of the body. Returns a label without a definition, which
  // `function` owns; null if all labels are defined.
  const Label* Finish();

 private:
  int64_t End() const { return static_cast<int64_t>(function_.body.size()); }
  std::vector<uint32_t> Unite();

  Function& function_;
  // The numbers of labels by name, for each open scope.
  std::vector<std::map<std::string, uint32_t, std::less<>>> scopes_;
  // Pairs of numbers of one label, the number of the inner scope first.
  std::vector<std::pair<uint32_t, uint32_t>> same_;
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_BODY_LABELS_H_
