// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_LINKER_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_LINKER_H_

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/image.h"
#include "cuda.h"

namespace holdfast::software {

// The object behind a CUlinkState: modules that become one image. Thread-safe.
//
// cuLinkCreate makes one, cuLinkAddData calls Add for each input,
// cuLinkComplete calls Complete, whose image cuModuleLoadData then takes.
class Linker {
 public:
  // The options' buffers get the logs of every later call.
  explicit Linker(const JitOptions& options) : options_(options) {}

  // PTX, a fat binary with PTX, an object of the host with such in it, or an
  // image that another Linker made; anything else holds machine code,
  // CUDA_ERROR_NO_BINARY_FOR_GPU. `name` is for the log.
  // CUDA_ERROR_INVALID_VALUE: no data, or an unknown type. Checks the code at
  // once. Of an archive of such, Complete takes the members that it needs;
  // members without PTX are left out. CUDA_ERROR_INVALID_IMAGE: an archive is
  // damaged, or has no code for a GPU at all.
  CUresult Add(CUjitInputType type, const void* data, size_t size,
               absl::string_view name);

  // The image belongs to the linker. Symbols that are missing or defined twice
  // are named in the log, with what was left out of archives. Valid until the
  // next Complete or the linker's end. CUDA_ERROR_INVALID_VALUE: nothing was
  // added.
  CUresult Complete(void** image, size_t* size);

  // Puts a log where the options say. Logs of several calls are joined. Returns
  // `result`.
  CUresult Report(CUresult result, const std::string& log);

 private:
  // The inputs of the linker.
  struct Inputs {
    std::vector<std::string> modules;
    std::vector<std::string> members;   // of archives, taken if needed
    std::vector<std::string> left_out;  // members, with the reason
  };

  CUresult AddArchive(absl::string_view archive, absl::string_view name);
  CUresult Link(Inputs inputs, std::string* log, std::string* image) const;

  const JitOptions options_;
  Mutex mutex_;
  Inputs inputs_ ABSL_GUARDED_BY(mutex_);
  std::string image_ ABSL_GUARDED_BY(mutex_);
  std::string log_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_LINKER_H_
