// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_JIT_OPTIONS_H_
#define HOLDFAST_CLIENT_CUDA_JIT_OPTIONS_H_

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/cuda/kernel_limits.h"
#include "cuda.h"

namespace holdfast::libcuda {

// The CUjit_options of a load or a link. The logs and the time are written into
// the program's buffers. Limits of kernels become directives of PTX, and a link
// passes CU_JIT_MAX_REGISTERS to nvJitLink for other code. All other options,
// such as optimisation and caching, are ignored: other clients may share the
// code. Copyable; points into the program's arrays.
class JitOptions {
 public:
  // Reads `count` options into *parsed. CUDA_ERROR_INVALID_VALUE: an array is
  // null, and `count` is not 0; or a limit is 0.
  static CUresult Parse(unsigned count, CUjit_option* options, void** values,
                        JitOptions* parsed);

  // Returns the options of a link, as nvJitLink spells them.
  std::vector<std::string> LinkerOptions() const;
  const cuda::KernelLimits& limits() const { return limits_; }

  // True if the program reads the log of errors.
  bool has_error_log() const { return errors_.buffer != nullptr; }

  // Writes `information` into the log of information. Writes the compiler's log
  // of an error, or its message if there is no log, into the log of errors.
  // Writes the milliseconds since Parse for CU_JIT_WALL_TIME.
  void Report(const absl::Status& status,
              absl::string_view information = "") const;

 private:
  // A program's buffer. `*size` is the buffer's size before Write, and the
  // length of the text after it.
  struct Log {
    char* buffer = nullptr;
    void** size = nullptr;
    void Write(absl::string_view text) const;
  };

  Log information_;
  Log errors_;
  cuda::KernelLimits limits_;
  void** wall_time_ = nullptr;  // the option's value
  std::chrono::steady_clock::time_point start_;
};

// Prints the reason of a refused module, kernel or link: the first line of the
// compiler's log, or the message if there is no log.
void SayCodeIsRefused(CUresult result, const absl::Status& reason);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_JIT_OPTIONS_H_
