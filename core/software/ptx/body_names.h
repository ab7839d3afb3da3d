// SPDX-License-Identifier: Apache-2.0
//
// Looks up the names of a function's body: registers, variables and functions.
// PTX has nested scopes, and a name of an inner scope hides the same name of an
// outer scope.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_BODY_NAMES_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_BODY_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/software/ptx/declaration.h"

namespace holdfast::software::ptx {

// The names of the open scopes. A range such as %r<5> declares %r0 to %r4. A
// register of a range is made when its name is first looked up, so that large
// ranges cost nothing.
class BodyNames {
 public:
  // Opens the outermost scope, with the names of the formal parameters.
  // `globals` has the names of the module. Registers are added to `function`.
  // `globals` and `function` must outlive this object.
  BodyNames(const Names& globals, Names formals, Function& function)
      : globals_(globals), function_(function) {
    scopes_.push_back({std::move(formals), {}});
  }

  // Begin a scope, and end the innermost scope.
  void Open() { scopes_.emplace_back(); }
  void Close() { scopes_.pop_back(); }
  // Returns the number of open scopes; 0 after the outermost scope has ended.
  size_t depth() const { return scopes_.size(); }

  // The functions below REQUIRE an open scope.

  // Returns the names of the innermost scope, without registers of ranges that
  // were not looked up.
  Names& innermost() { return scopes_.back().names; }
  // Declares a register, or with 2 or 4 `lanes` a vector of registers. The
  // registers of a vector have the names name.x to name.w, and also name.r to
  // name.a. Returns false if the innermost scope already has the name.
  bool Add(absl::string_view name, Type type, int lanes) {
    return AddTo(&innermost(), name, type, lanes);
  }
  // Declares a range of `count` registers or vectors: `prefix` with the numbers
  // from 0. Returns false if the ranges of the body would have 1 Mi registers
  // or more in total.
  bool AddRange(absl::string_view prefix, Type type, int lanes, uint64_t count);
  // Sets *operand to the register, vector of registers, variable, special
  // register or function with this name. Returns false if there is none.
  bool Find(absl::string_view name, Operand* operand);

 private:
  struct RegisterRange {
    Type type;
    int lanes;
    uint64_t count;
  };
  struct Scope {
    Names names;
    std::map<std::string, RegisterRange, std::less<>> ranges;  // by prefix
  };

  bool AddTo(Names* names, absl::string_view name, Type type, int lanes);
  bool FindInScopes(absl::string_view name, Operand* operand);
  Operand NewRegister(absl::string_view name, Type type);

  const Names& globals_;
  Function& function_;
  std::vector<Scope> scopes_;
  uint64_t range_registers_ = 0;  // the sum of the sizes of all ranges
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_BODY_NAMES_H_
