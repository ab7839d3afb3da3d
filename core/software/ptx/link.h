// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_LINK_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_LINK_H_

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::ptx {

// Joins modules into *joined. Returns true if there is no error. REQUIRES:
// *errors is empty.
//
// An .extern declaration refers to the .visible definition of another module.
// The first of several .weak definitions counts, unless there is a definition
// that is not .weak. Other names stay local to their module. A function without
// a definition stays a declaration. Each error names a symbol that is defined
// twice, is declared with another type, or (for variables) is not defined.
bool Link(std::vector<Module> modules, Module* joined,
          std::vector<std::string>* errors);

// Chooses members of archives, as linkers do. A member is needed if it defines
// a symbol that is declared, but not defined, in the modules added before.
class MemberChoice {
 public:
  // `provided` returns true for a function that needs no definition.
  explicit MemberChoice(std::function<bool(absl::string_view)> provided)
      : provided_(std::move(provided)) {}

  // Adds the symbols of a module that is linked in any case.
  void Add(const Module& module);

  // Returns true if a symbol of the added modules is undefined.
  bool Missing() const { return !missing_.empty(); }

  // Adds each needed member, and returns the indices of these members in the
  // order in which they were added. Must be called once.
  std::vector<size_t> Choose(const std::vector<Module>& members);

 private:
  bool Defines(const Module& member) const;

  const std::function<bool(absl::string_view)> provided_;
  std::set<std::string> defined_;
  std::set<std::string> missing_;
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_LINK_H_
