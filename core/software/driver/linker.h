// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_LINKER_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_LINKER_H_

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "core/cuda/kernel_limits.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/image.h"
#include "cuda.h"

namespace holdfast::software {

// The object behind a CUlinkState: links modules to one image. Thread-safe.
//
// cuLinkCreate makes a Linker, cuLinkAddData calls Add for each input, and
// cuLinkComplete calls Complete. cuModuleLoadData accepts the image.
class Linker {
 public:
  // Later calls write their logs to the buffers of `options`. The limits of
  // `options` apply to each input.
  explicit Linker(const JitOptions& options) : options_(options) {}

  // Adds an input, and checks its code. The input is PTX, a fat binary with
  // PTX, a host object that contains PTX, an image that another Linker made, or
  // an archive of these. Complete links only the members of an archive that it
  // needs. Members without PTX are left out. The log contains `name`. `limits`
  // apply to this input, and replace the limits of the linker. The linker
  // copies the bytes.
  // CUDA_ERROR_INVALID_VALUE: no data, or an unknown type.
  // CUDA_ERROR_NO_BINARY_FOR_GPU: the input has machine code, but no PTX.
  // CUDA_ERROR_INVALID_IMAGE: a host object or an archive has no code for a
  //   GPU, or an archive is damaged or thin.
  CUresult Add(CUjitInputType type, const void* data, size_t size,
               absl::string_view name, const cuda::KernelLimits& limits = {});

  // Links the inputs and sets *image. The linker owns the image, which is valid
  // until the next successful Complete or the linker's end. `size` may be null.
  // If linking fails, the log names the symbols that are missing or defined
  // twice, and the members of archives that were left out.
  // CUDA_ERROR_INVALID_VALUE: nothing was added.
  CUresult Complete(void** image, size_t* size);

  // Appends `log` to the logs of earlier calls, writes all logs to the buffer
  // of the options, and returns `result`. If there is no buffer, refuses a
  // failure with `log` as the reason (RefuseCode).
  CUresult Report(CUresult result, const std::string& log);

 private:
  // The inputs of the linker.
  struct Inputs {
    std::vector<std::string> modules;
    std::vector<std::string> members;   // members of archives
    std::vector<std::string> left_out;  // a line for each member left out
  };

  CUresult AddArchive(absl::string_view archive, absl::string_view name,
                      const cuda::KernelLimits& limits);
  CUresult Link(Inputs inputs, std::string* log, std::string* image) const;

  const JitOptions options_;
  Mutex mutex_;
  Inputs inputs_ ABSL_GUARDED_BY(mutex_);
  std::string image_ ABSL_GUARDED_BY(mutex_);
  std::string log_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_LINKER_H_
