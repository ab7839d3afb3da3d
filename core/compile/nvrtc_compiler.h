// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_COMPILE_NVRTC_COMPILER_H_
#define HOLDFAST_CORE_COMPILE_NVRTC_COMPILER_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/compile/nvrtc_api.h"
#include "core/compile/program.h"

namespace holdfast::compile {

// Compiles CUDA C++ to PTX, cubin or LTO IR with NVRTC. Thread-safe: NVRTC
// itself runs one compilation at a time. Compiles clients' code, so run it in a
// separate process with limits of time and memory.
class NvrtcCompiler {
 public:
  // `api` must outlive the compiler.
  explicit NvrtcCompiler(const NvrtcApi& api) : api_(api) {}

  // Returns the library's version, "13.0".
  std::string version() const;

  // Returns the compiled program. INVALID_ARGUMENT: an option is refused (the
  // message names it), or the source does not compile (the ErrorDetail has the
  // whole log).
  absl::StatusOr<ObjectCode> Compile(const ProgramSource& program) const;

 private:
  const NvrtcApi& api_;
};

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_NVRTC_COMPILER_H_
