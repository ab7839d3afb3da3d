// SPDX-License-Identifier: Apache-2.0
//
// Splits PTX text into the statements of the module level, finds the name that
// each statement declares, and renames symbols. Does not interpret
// instructions.
#ifndef HOLDFAST_CORE_COMPILE_PTX_MODULE_H_
#define HOLDFAST_CORE_COMPILE_PTX_MODULE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast::compile {

// A function, a variable or another statement at the module level. Its views
// borrow the module's text. A variable that is not .extern counts as defined.
struct PtxStatement {
  enum class Kind { kFunction, kVariable, kOther };
  enum class Linkage { kInternal, kVisible, kWeak, kExtern };

  Kind kind = Kind::kOther;
  Linkage linkage = Linkage::kInternal;
  bool entry = false;   // a kernel
  bool shared = false;  // in shared memory
  bool defined = false;
  absl::string_view name;  // the declared name; empty for kOther
  // The text of a function's definition before its body.
  absl::string_view head;
  absl::string_view text;  // the whole statement
};

// A PTX module. Borrows its text.
struct PtxModule {
  int version = 0;           // 90 is 9.0
  absl::string_view target;  // "sm_90"
  absl::string_view address_size;
  std::vector<PtxStatement> statements;  // without debug information

  // Parses the text, which must outlive the module. INVALID_ARGUMENT: the text
  // lacks .version or .target, a declaration has several variables, or the text
  // cannot be split into statements.
  static absl::StatusOr<PtxModule> Parse(absl::string_view ptx);
};

// The new name of each old name.
using PtxNames = std::map<absl::string_view, std::string>;

// Returns `text` with each name of `names` replaced, and without .loc lines.
std::string RenamePtx(absl::string_view text, const PtxNames& names);

// Returns the words of `text` (names, opcodes, numbers), for finding the
// symbols to which it refers. They refer to the text.
std::vector<absl::string_view> PtxWords(absl::string_view text);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_PTX_MODULE_H_
