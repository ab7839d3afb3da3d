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

// The newest version of PTX that the parser accepts, as 10 * major + minor.
inline constexpr int kNewestVersion = 90;

// The result of Parse. `module` is complete only if ok() is true.
struct ParseResult {
  Module module;
  // Each error is "line:column: reason". Empty if there is no error.
  std::vector<std::string> errors;
  // The .version of the text is newer than kNewestVersion.
  bool unsupported_version = false;

  bool ok() const { return errors.empty(); }
};

// Parses `text`, which may have any bytes. Returns at most 20 errors. After an
// error, continues with the next statement.
ParseResult Parse(absl::string_view text);

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_PARSER_H_
