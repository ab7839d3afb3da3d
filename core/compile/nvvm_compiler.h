// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_COMPILE_NVVM_COMPILER_H_
#define HOLDFAST_CORE_COMPILE_NVVM_COMPILER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/compile/compile_options.h"
#include "core/compile/nvvm_api.h"
#include "core/compile/program.h"

namespace holdfast::compile {

// Compiles NVVM IR, text or bitcode, to PTX or LTO IR with libNVVM. Joins
// several modules to one program, and adds libdevice if a module calls it.
// Thread-safe. Compiles clients' code, so use it in a separate process, like
// NvrtcCompiler.
class NvvmCompiler {
 public:
  // `api` must outlive the compiler.
  explicit NvvmCompiler(const NvvmApi& api) : api_(api) {}

  // Returns the library's version, "2.0".
  std::string version() const;

  // Returns the compiled program. `options` replace program.options, and
  // `target` replaces program.target. INVALID_ARGUMENT: an option or the IR is
  // refused (the ErrorDetail has the whole log). UNAVAILABLE: the IR calls
  // libdevice, which is not installed.
  absl::StatusOr<ObjectCode> Compile(const ProgramSource& program,
                                     absl::Span<const Option> options,
                                     ObjectFormat target) const;

 private:
  const NvvmApi& api_;
};

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_NVVM_COMPILER_H_
