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

// Loaded device code, usable on every device: cuLibraryLoadData. Thread-safe.
// Kernels hold a shared_ptr to their module, so a module is unloaded after its
// last kernel was destroyed.
class Module {
 public:
  // A .global or .const variable of the module in one context. Valid as long as
  // the module.
  struct Global {
    CUdeviceptr address = 0;
    size_t size = 0;  // bytes
  };

  // Loads an image: PTX, a cubin or a fatbin, which the driver copies. Methods
  // without a context argument use `context`. Blocks while the driver compiles
  // PTX, which may take long. INVALID_ARGUMENT: the driver refuses the image
  // (the ErrorDetail has its JIT log), or CheckImage does.
  static absl::StatusOr<std::shared_ptr<const Module>> Load(
      std::shared_ptr<const Context> context, absl::string_view image);
  // Unloads the module. REQUIRES: no kernel of the module is running.
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

  // Returns the sorted, mangled names of the kernels. UNIMPLEMENTED: the driver
  // is older than 12.4.
  absl::StatusOr<std::vector<std::string>> KernelNames() const;

  // Returns the handle of the kernel with this mangled name, valid as long as
  // the module. NOT_FOUND: there is no such kernel; the message lists the
  // existing kernels, at most 32.
  absl::StatusOr<CUkernel> FindKernel(absl::string_view name) const;

  // Returns the variable in `context`; each context has its own. The first use
  // of a device loads the module's code there. NOT_FOUND: there is no variable
  // with this name.
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
