// SPDX-License-Identifier: Apache-2.0
#include "client/bench/nvrtc_process.h"

#include <cstdint>
#include <cstdio>
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/bench/kernels.h"
#include "client/bench/summary.h"
#include "core/base/status_macros.h"
#include "core/compile/nvrtc_api.h"
#include "core/compile/nvrtc_compiler.h"

namespace holdfast::bench {

absl::StatusOr<std::unique_ptr<NvrtcProcess>> NvrtcProcess::Start() {
  HOLDFAST_ASSIGN_OR_RETURN(auto process, BenchProcess::Start({"--nvrtc"}));
  return std::unique_ptr<NvrtcProcess>(new NvrtcProcess(std::move(process)));
}

absl::StatusOr<double> NvrtcProcess::Compile(const std::string& source) {
  double microseconds = 0;
  if (process_->Write(absl::StrCat(source.size(), "\n", source)) &&
      absl::SimpleAtod(process_->ReadLine(), &microseconds)) {
    return microseconds;
  }
  return absl::UnavailableError("NVRTC does not compile without Holdfast");
}

absl::Status ServeNvrtc() {
  HOLDFAST_ASSIGN_OR_RETURN(const auto nvrtc, compile::LoadNvrtc({}));
  compile::ProgramSource program;
  program.arch = kCompileArch;
  for (std::string line; std::getline(std::cin, line);) {
    uint64_t size = 0;
    if (!absl::SimpleAtoi(line, &size) || size > (uint64_t{1} << 20)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", line, "\" is no length of a source"));
    }
    program.source.resize(size);
    std::cin.read(program.source.data(), static_cast<std::streamsize>(size));
    const Stopwatch watch;
    HOLDFAST_RETURN_IF_ERROR(
        compile::NvrtcCompiler(*nvrtc).Compile(program).status());
    std::printf("%.9g\n", watch.Microseconds());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace holdfast::bench
