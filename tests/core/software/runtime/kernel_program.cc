// SPDX-License-Identifier: Apache-2.0
#include "tests/core/software/runtime/kernel_program.h"

#include <cstdlib>
#include <iostream>

#include "core/base/error_detail.h"
#include "core/compile/nvrtc_api.h"
#include "core/compile/nvrtc_compiler.h"

namespace holdfast::software {
namespace {

[[noreturn]] void Die(const std::string& why) {
  std::cerr << why << std::endl;
  std::abort();
}

const compile::NvrtcCompiler& Compiler() {
  static const auto& api = *new auto(compile::LoadNvrtc({}));
  if (!api.ok()) Die(std::string(api.status().message()));
  static const auto& compiler = *new compile::NvrtcCompiler(**api);
  return compiler;
}

}  // namespace

KernelProgram::KernelProgram(const std::string& source,
                             const std::vector<std::string>& options) {
  compile::ProgramSource program;
  program.source = source;
  program.arch = "compute_90";
  program.options = {"--std=c++17", "--fmad=false"};
  program.options.insert(program.options.end(), options.begin(), options.end());
  auto code = Compiler().Compile(program);
  if (!code.ok()) {
    const auto detail = GetErrorDetail(code.status());
    Die(detail.has_value() ? detail->log
                           : std::string(code.status().message()));
  }
  ptx_ = code->bytes.c_str();  // without the terminating zero
  std::string log;
  if (Executable::Load(ptx_, &executable_, &log) != CUDA_SUCCESS) {
    Die(log + "\n" + ptx_);
  }
}

}  // namespace holdfast::software
