// SPDX-License-Identifier: Apache-2.0
//
// Types of declarations that the classes of the parser share.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_DECLARATION_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_DECLARATION_H_

#include <functional>
#include <map>
#include <string>

#include "core/software/ptx/ast.h"

namespace holdfast::software::ptx {

// The operand that each name of a scope stands for.
using Names = std::map<std::string, Operand, std::less<>>;

// The linkage words before a variable or a function.
struct Linkage {
  bool external = false;
  bool visible = false;
  bool weak = false;  // .weak and .common
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_DECLARATION_H_
