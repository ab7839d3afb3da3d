// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_MODULE_H_
#define HOLDFAST_CORE_CUDA_MODULE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cuda/context.h"
#include "cuda.h"

namespace holdfast::cuda {

// Loaded device code: cuLibraryLoadData, of use on every device. Thread-safe.
// Kernels hold a shared_ptr to their module, so it unloads after the last of
// them.
class Module {
 public:
  // A .global or .const variable of the module.
  struct Global {
    CUdeviceptr address = 0;
    size_t size = 0;  // bytes
  };

  // `image` is PTX, a cubin or a fatbin; the driver copies it. `context` is the
  // one that methods without a context of their own use. INVALID_ARGUMENT has
  // the driver's JIT log in its ErrorDetail. Blocks while the driver compiles
  // PTX, which may take long. INVALID_ARGUMENT also if the image is of no known
  // format.
  static absl::StatusOr<std::shared_ptr<const Module>> Load(
      std::shared_ptr<const Context> context, absl::string_view image);
  // REQUIRES: no kernel of it is running.
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Valid as long as the module.
  CUlibrary handle() const { return handle_; }
  const Context& context() const { return *context_; }
  // The context that was given to Load.
  const std::shared_ptr<const Context>& shared_context() const {
    return context_;
  }

  // The log of the driver's JIT compiler; may be empty.
  const std::string& log() const { return log_; }

  // Names as in the image, i.e. mangled. UNIMPLEMENTED before driver 12.4.
  // Sorted.
  absl::StatusOr<std::vector<std::string>> KernelNames() const;

  // NOT_FOUND: the message lists the kernels that there are. Lists 32 names at
  // most. The handle is valid as long as the module.
  absl::StatusOr<CUkernel> FindKernel(absl::string_view name) const;

  // The variable as `context` has it: each has its own. NOT_FOUND: no variable
  // of that name. Loads the module's code on the context's device, if it is the
  // first use there.
  absl::StatusOr<Global> FindGlobal(absl::string_view name,
                                    const Context& context) const;

 private:
  Module(std::shared_ptr<const Context> context, CUlibrary handle,
         std::string log)
      : context_(std::move(context)), handle_(handle), log_(std::move(log)) {}

  const std::shared_ptr<const Context> context_;
  const CUlibrary handle_;
  const std::string log_;
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_MODULE_H_
