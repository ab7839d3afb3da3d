// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_LINK_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_LINK_H_

#include <string>
#include <vector>

#include "core/software/ptx/ast.h"

namespace holdfast::software::ptx {

// Joins modules into one: what a module declares .extern is what another one
// defines .visible; of several .weak definitions the first is taken; names that
// are neither stay their module's own. Each error names the symbol: defined
// twice, declared as something else, or (for variables) defined nowhere. A
// function that nobody defines stays a declaration.
bool Link(std::vector<Module> modules, Module* joined,
          std::vector<std::string>* errors);

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_LINK_H_
