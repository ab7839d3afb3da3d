// SPDX-License-Identifier: Apache-2.0
//
// Facade over NVRTC, libNVVM and nvJitLink. Selects a back end by the source
// language and the target format.
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

// Not thread-safe, as NvJitLinker is not.
class Compiler {
 public:
  // Opens what is installed.
  static std::unique_ptr<const Compiler> Load(const ToolkitOptions& options);

  // OK if at least one back end is there; else why NVRTC is not.
  absl::Status status() const;

  // "NVRTC 13.0, nvJitLink 13.0, libNVVM 2.0"; those that are there.
  std::string version() const;

  // Files that the compilers consist of, and directories that they read.
  std::vector<std::string> files() const;
  std::vector<std::string> directories() const;

  // C++ by NVRTC; PTX by nvJitLink; NVVM IR by libNVVM, to a cubin by nvJitLink
  // from there. UNAVAILABLE: one that it takes is not installed. UNIMPLEMENTED:
  // no back end makes this target of this language. Else as the back ends say.
  absl::StatusOr<ObjectCode> Compile(const ProgramSource& program) const;

  // PTX to PTX as LinkPtx says, PTX and LTO IR to PTX as LinkLtoAndPtx does,
  // all else as NvJitLinker::Link. To PTX, a fat binary or an object of the
  // host counts as the PTX in it.
  absl::StatusOr<ObjectCode> Link(const LinkSource& source) const;

 private:
  explicit Compiler(const ToolkitOptions& options);
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
