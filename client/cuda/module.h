// SPDX-License-Identifier: Apache-2.0
//
// Modules and libraries, and their kernels.
#ifndef HOLDFAST_CLIENT_CUDA_MODULE_H_
#define HOLDFAST_CLIENT_CUDA_MODULE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/launch_attributes.h"
#include "client/cpp/module.h"
#include "client/cpp/session.h"
#include "client/cuda/context.h"
#include "client/cuda/handle_table.h"
#include "client/cuda/image.h"
#include "cuda.h"
#include "holdfast/v1/module_commands.pb.h"

namespace holdfast::libcuda {

class Module;

// A CUfunction and a CUkernel: a kernel of the session is loaded on every
// device, so that the two are the same. Thread-safe.
class Function {
 public:
  Function(std::weak_ptr<Module> module, Kernel kernel,
           v1::KernelDescription description);

  // Null if the module was unloaded.
  std::shared_ptr<Module> module() const { return module_.lock(); }
  const Kernel& kernel() const { return kernel_; }
  const std::string& name() const { return description_.name(); }
  const google::protobuf::RepeatedPtrField<v1::KernelParameter>& parameters()
      const {
    return description_.parameters();
  }
  // Returns an attribute, by its name in KernelDescription, on a device. Waits
  // for the daemon. NOT_FOUND: there is no such attribute.
  absl::StatusOr<int64_t> Attribute(const std::string& name,
                                    uint32_t device) const;
  // The most dynamic shared memory of a block that launches may ask for, in
  // bytes, as the program has set it.
  int64_t dynamic_shared_limit() const { return dynamic_shared_limit_; }
  void set_dynamic_shared_limit(int64_t bytes) {
    dynamic_shared_limit_ = bytes;
  }
  // Returns what CUDA answers a launch with blocks of this size: INVALID_VALUE
  // beyond the kernel's launch bounds, LAUNCH_OUT_OF_RESOURCES where its
  // registers do not suffice.
  CUresult CheckBlock(const Dim3& block) const;
  // Was the kernel compiled for clusters?
  bool has_clusters() const { return has_clusters_; }

 private:
  const std::weak_ptr<Module> module_;
  const Kernel kernel_;
  const v1::KernelDescription description_;
  const bool has_clusters_;
  std::atomic<int64_t> dynamic_shared_limit_;
};

using FunctionTable = HandleTable<CUfunction, Function>;

// A CUmodule or a CUlibrary. Thread-safe.
class Module : public std::enable_shared_from_this<Module> {
 public:
  // Waits until the daemon has loaded the image. A library has no context.
  static absl::StatusOr<std::shared_ptr<Module>> Load(Session& session,
                                                      const Image& image,
                                                      const Context* context);

  // 0 and null for a library.
  uint64_t context_id() const { return context_id_; }
  CUcontext context() const { return context_; }
  const holdfast::Module& loaded() const { return loaded_; }
  const std::vector<std::string>& kernel_names() const { return names_; }
  // Returns the same handle for the same name. The first call waits.
  // NOT_FOUND: there is no such kernel.
  absl::StatusOr<CUfunction> GetFunction(const std::string& name,
                                         FunctionTable& functions);

 private:
  Module(holdfast::Module loaded, const Context* context,
         std::vector<std::string> names)
      : loaded_(std::move(loaded)),
        context_id_(context == nullptr ? 0 : context->id()),
        context_(context == nullptr ? nullptr : context->handle()),
        names_(std::move(names)) {}

  const holdfast::Module loaded_;
  const uint64_t context_id_;
  const CUcontext context_;
  const std::vector<std::string> names_;
  absl::Mutex mutex_;
  std::map<std::string, CUfunction> functions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_MODULE_H_
