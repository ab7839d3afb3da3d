// SPDX-License-Identifier: Apache-2.0
//
// The registers and variables that a function's body can name. PTX has nested
// scopes, and a name of an inner scope hides the same name of an outer scope.
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

// %r<5> declares %r0 .. %r4. A register of such a range is made when its name
// is first looked up, so that large ranges cost nothing.
class BodyNames {
 public:
  // The outermost scope begins with the formal parameters. `globals` has the
  // names of the module, and `function` gets the registers. Both must outlive
  // this object.
  BodyNames(const Names& globals, Names formals, Function& function)
      : globals_(globals), function_(function) {
    scopes_.push_back({std::move(formals), {}});
  }

  // Begin and end the innermost scope.
  void Open() { scopes_.emplace_back(); }
  void Close() { scopes_.pop_back(); }
  // Returns the number of open scopes: 0 after the outermost one has ended.
  size_t depth() const { return scopes_.size(); }

  // The functions below need a scope.
  //
  // Returns the names of the innermost scope, without registers of ranges that
  // were not looked up.
  Names& innermost() { return scopes_.back().names; }
  // Declares a register, or with 2 or 4 `lanes` a vector of registers: name.x
  // to name.w, which are name.r to name.a as well. Returns false if the
  // innermost scope has the name already.
  bool Add(absl::string_view name, Type type, int lanes) {
    return AddTo(&innermost(), name, type, lanes);
  }
  // Declares a range of registers or of vectors. Returns false if the ranges of
  // the body have 1 Mi registers or more in all.
  bool AddRange(absl::string_view prefix, Type type, int lanes, uint64_t count);
  // Sets `operand` to the register, vector of registers, variable, special
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
