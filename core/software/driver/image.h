// SPDX-License-Identifier: Apache-2.0
//
// Loads the images that an application passes to cuModuleLoadData and similar
// functions. An image is code in memory, in a format of container.h.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_IMAGE_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_IMAGE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "core/cuda/kernel_limits.h"
#include "core/software/runtime/executable.h"
#include "cuda.h"

namespace holdfast::software {

// The options of a load that this driver acts on: the buffers for logs, the
// time, and the limits of kernels. Other options are hints for a compiler, and
// are ignored.
class JitOptions {
 public:
  // Reads `count` options into *parsed, whose time begins now. The arrays must
  // outlive *parsed. CUDA_ERROR_INVALID_VALUE: an array is null, an option is
  // unknown or given twice, a limit is 0, or two options exclude each other.
  static CUresult Parse(unsigned count, CUjit_option* options, void** values,
                        JitOptions* parsed);

  // Writes the log `errors`, and an empty log of information, into the buffers
  // of the options. Truncates a log to its buffer, with a zero byte at the end,
  // and sets the option for the size to the bytes written without the zero
  // byte. Skips a log unless its buffer and size were given. Also sets the
  // option for the time to the milliseconds since Parse, as a float.
  void Report(const std::string& errors) const;
  // True if the options have a buffer for the error log.
  bool has_error_log() const { return error_.buffer != nullptr; }
  const cuda::KernelLimits& limits() const { return limits_; }

 private:
  struct Log {
    char* buffer = nullptr;
    void** size = nullptr;  // the value of the size option, which Write sets
    uint32_t room = 0;      // the bytes of the buffer

    void SetSize(void** value);
    void Write(const std::string& log) const;
  };
  Log error_;
  Log info_;
  cuda::KernelLimits limits_;
  void** wall_time_ = nullptr;  // the value of the time option
  std::chrono::steady_clock::time_point start_;
};

// Returns CUDA_ERROR_INVALID_PTX, with the reason in *log, if the code is for a
// newer compute capability than the devices have.
CUresult CheckTarget(const Executable& executable, std::string* log);

// Loads an image that container.h can read: PTX, or a fat binary with PTX.
// Links the modules of an image that has several modules. Writes the reason of
// a failure to *reason and to the error log of `options`.
// CUDA_ERROR_INVALID_IMAGE: the image is neither PTX nor a fat binary. Also
// fails as Executable::Load, Executable::LoadLinked and CheckTarget.
CUresult LoadImage(const void* image, const JitOptions& options,
                   std::unique_ptr<Executable>* executable,
                   std::string* reason);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_IMAGE_H_
