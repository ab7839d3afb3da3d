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

// Joins modules into one: what a module declares .extern is what another one
// defines .visible; of several .weak definitions the first is taken; names that
// are neither stay their module's own. Each error names the symbol: defined
// twice, declared as something else, or (for variables) defined nowhere. A
// function that nobody defines stays a declaration.
bool Link(std::vector<Module> modules, Module* joined,
          std::vector<std::string>* errors);

// Chooses members of archives, as linkers do: a member is taken if it defines a
// symbol that the modules before it declare and leave undefined.
class MemberChoice {
 public:
  // `provided` returns true for a function that needs no definition.
  explicit MemberChoice(std::function<bool(absl::string_view)> provided)
      : provided_(std::move(provided)) {}

  void Add(const Module& module);

  // Returns true if a symbol of the added modules is undefined.
  bool Missing() const { return !missing_.empty(); }

  // Adds each member that is needed, and returns their indices in the order of
  // need. REQUIRES: called once.
  std::vector<size_t> Choose(const std::vector<Module>& members);

 private:
  bool Defines(const Module& member) const;

  const std::function<bool(absl::string_view)> provided_;
  std::set<std::string> defined_;
  std::set<std::string> missing_;
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_LINK_H_
