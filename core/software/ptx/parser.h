// SPDX-License-Identifier: Apache-2.0
//
// Parses PTX text into a Module.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_PARSER_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_PARSER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::ptx {

// The newest PTX ISA that the parser knows, as 10 * major + minor.
inline constexpr int kNewestVersion = 90;

// `module` is complete only if ok().
struct ParseResult {
  Module module;
  // "line:column: reason"; empty when the module is good.
  std::vector<std::string> errors;
  // The text asks for a newer PTX ISA than kNewestVersion.
  bool unsupported_version = false;

  bool ok() const { return errors.empty(); }
};

// Accepts any bytes. Reports at most 20 errors, and continues after each with
// the next statement.
ParseResult Parse(absl::string_view text);

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_PARSER_H_
