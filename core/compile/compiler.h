// SPDX-License-Identifier: Apache-2.0
//
// Facade over the back ends NVRTC, libNVVM and nvJitLink. Selects a back end by
// the source language and the target format.
//
//   const auto compiler = Compiler::Load({});
//   HOLDFAST_ASSIGN_OR_RETURN(ObjectCode object, compiler->Compile(program));
#ifndef HOLDFAST_CORE_COMPILE_COMPILER_H_
#define HOLDFAST_CORE_COMPILE_COMPILER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/compile/nvjitlink_api.h"
#include "core/compile/nvjitlink_linker.h"
#include "core/compile/nvrtc_api.h"
#include "core/compile/nvvm_api.h"
#include "core/compile/nvvm_compiler.h"
#include "core/compile/program.h"
#include "core/compile/toolkit.h"

namespace holdfast::compile {

// Not thread-safe, because NvJitLinker is not. Compile and Link block until the
// result is complete. They run code of clients through the compilers, so use
// them in a worker process, and end that process after a link
// (nvjitlink_linker.h) or after options that leave state (LeavesState).
class Compiler {
 public:
  // Opens the installed back ends. Never returns null; without back ends,
  // status() is an error.
  static std::unique_ptr<const Compiler> Load(const ToolkitOptions& options);

  // Returns OK if at least one back end was found; otherwise the error of
  // NVRTC.
  absl::Status status() const;

  // Returns the found back ends: "NVRTC 13.0, nvJitLink 13.0, libNVVM 2.0".
  std::string version() const;

  // Return the paths of the found libraries and of libdevice, and the
  // directories of these files and of the toolkit's headers.
  std::vector<std::string> files() const;
  std::vector<std::string> directories() const;

  // Compiles C++ by NVRTC, PTX by nvJitLink, and NVVM IR by libNVVM (followed
  // by nvJitLink for a cubin). UNAVAILABLE: a needed back end is not installed.
  // INVALID_ARGUMENT: no back end makes this target from this language, or the
  // language does not support a field of `program`. Also fails as the back ends
  // do.
  absl::StatusOr<ObjectCode> Compile(const ProgramSource& program) const;

  // Links PTX to PTX by LinkPtx, PTX and LTO IR to PTX by LinkLtoAndPtx, and
  // other inputs by NvJitLinker::Link. If the target is PTX, replaces each fat
  // binary and host object by the PTX in it. UNAVAILABLE: a needed back end is
  // not installed. Also fails as these functions do.
  absl::StatusOr<ObjectCode> Link(const LinkSource& source) const;

 private:
  explicit Compiler(const ToolkitOptions& options);
  // Do the work of Compile and Link, which then set ObjectCode::kernels.
  absl::StatusOr<ObjectCode> CompileSource(const ProgramSource& program) const;
  absl::StatusOr<ObjectCode> LinkInputs(const LinkSource& source) const;
  absl::StatusOr<ObjectCode> CompilePtx(const ProgramSource& program) const;
  absl::StatusOr<ObjectCode> CompileNvvm(const ProgramSource& program) const;
  absl::StatusOr<ObjectCode> LinkUnpacked(const LinkSource& source) const;

  absl::StatusOr<NvJitLinker> Linker() const;
  absl::StatusOr<NvvmCompiler> Nvvm() const;
  absl::StatusOr<ObjectCode> Checked(absl::StatusOr<ObjectCode> joined,
                                     const std::string& arch) const;

  const absl::StatusOr<std::unique_ptr<const NvrtcApi>> nvrtc_;
  const absl::StatusOr<std::unique_ptr<const NvJitLinkApi>> nvjitlink_;
  const absl::StatusOr<std::unique_ptr<const NvvmApi>> nvvm_;
};

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_COMPILER_H_
