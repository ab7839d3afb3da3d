// SPDX-License-Identifier: Apache-2.0
//
// The labels of a function's body. A scope has labels of its own, and a branch
// may name a label that is defined later.
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

// A label that a scope uses but does not define belongs to the enclosing scope.
// This is known only when the scope ends, so that one label may have two
// numbers until Finish().
class BodyLabels {
 public:
  // `function` gets the labels, and must outlive this object. The outermost
  // scope is open.
  explicit BodyLabels(Function& function) : function_(function), scopes_(1) {}

  // Begin and end a scope. The undefined labels of the scope move to the
  // enclosing scope; the labels of the outermost scope stay.
  void Open() { scopes_.emplace_back(); }
  void Close();

  // Returns the label with this name in the present scope. `use`: where the
  // text names it.
  Operand Named(absl::string_view name, Location use);
  // Both define a label. Define makes it stand for the instruction that is read
  // next, and returns false if the label is defined already. DefineTargets
  // makes it stand for a list of labels, for brx.idx.
  bool Define(absl::string_view name, Location location);
  void DefineTargets(absl::string_view name, Location location,
                     std::vector<uint32_t> targets);

  // Gives each label one number in all instructions and lists. Call once, at
  // the end of the body. Returns a label without definition; null: all labels
  // are defined.
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
