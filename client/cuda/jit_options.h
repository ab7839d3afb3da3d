// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_JIT_OPTIONS_H_
#define HOLDFAST_CLIENT_CUDA_JIT_OPTIONS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cuda.h"

namespace holdfast::libcuda {

// The CUjit_options of a load or a link. The logs are written into the
// program's buffers. A link passes CU_JIT_MAX_REGISTERS on; the daemon decides
// about all else, such as optimisation and caches, for code that other clients
// may share. The object can be copied, and points into the program's arrays.
class JitOptions {
 public:
  // CUDA_ERROR_INVALID_VALUE: an option without arrays.
  static CUresult Parse(unsigned count, CUjit_option* options, void** values,
                        JitOptions* parsed);

  // As nvJitLink spells them.
  std::vector<std::string> LinkerOptions() const;

  // Writes the error's message, or its whole log, into the log of errors; or
  // `information` into the other log.
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
  unsigned max_registers_ = 0;  // 0: no limit
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_JIT_OPTIONS_H_
