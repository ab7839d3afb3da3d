// SPDX-License-Identifier: Apache-2.0
//
// PTX as text that can be taken apart and put together: its module-level
// statements, what each declares, and where names stand in it. It
// does not interpret instructions.
#ifndef HOLDFAST_CORE_COMPILE_PTX_MODULE_H_
#define HOLDFAST_CORE_COMPILE_PTX_MODULE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast::compile {

// A function, a variable or anything else at the level of the module, whose
// text its views borrow. A variable that is not .extern counts as defined.
struct PtxStatement {
  enum class Kind { kFunction, kVariable, kOther };
  enum class Linkage { kInternal, kVisible, kWeak, kExtern };

  Kind kind = Kind::kOther;
  Linkage linkage = Linkage::kInternal;
  bool entry = false;   // a kernel
  bool shared = false;  // in shared memory
  bool defined = false;
  absl::string_view name;  // of what it declares
  absl::string_view head;  // of a function's definition: all before its body
  absl::string_view text;  // all of it
};

// Borrows its text.
struct PtxModule {
  int version = 0;           // 90 is 9.0
  absl::string_view target;  // "sm_90"
  absl::string_view address_size;
  std::vector<PtxStatement> statements;  // without debug information

  // INVALID_ARGUMENT: not the outline of a PTX module. It must have .version
  // and .target, and one variable in each declaration.
  static absl::StatusOr<PtxModule> Parse(absl::string_view ptx);
};

// New names by old ones.
using PtxNames = std::map<absl::string_view, std::string>;

// `text` with these names replaced, and without .loc lines.
std::string RenamePtx(absl::string_view text, const PtxNames& names);

// The words of `text`: names, opcodes, numbers. For finding what it refers to.
std::vector<absl::string_view> PtxWords(absl::string_view text);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_PTX_MODULE_H_
