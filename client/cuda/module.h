// SPDX-License-Identifier: Apache-2.0
//
// Modules and libraries, and their kernels.
#ifndef HOLDFAST_CLIENT_CUDA_MODULE_H_
#define HOLDFAST_CLIENT_CUDA_MODULE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/compile/object_code.h"
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

// A CUfunction or a CUkernel. Both are the same object, because a kernel of the
// session is loaded on every device. Thread-safe.
class Function {
 public:
  Function(const std::shared_ptr<Module>& module, Kernel kernel,
           v1::KernelDescription description);

  // Null if the module was unloaded.
  std::shared_ptr<Module> module() const { return module_.lock(); }
  // Returns true if the kernel is a library's, or `context` is the context of
  // the kernel's module.
  bool IsUsableIn(const Context& context) const;
  // Returns the kernel to launch in a context. FAILED_PRECONDITION: the module
  // was unloaded.
  absl::StatusOr<Kernel> In(const Context& context);
  // Returns the kernel for queries whose results are the same in every context.
  const Kernel& kernel() const { return kernel_; }
  // Forgets the kernel of a context that has ended.
  void EndContext(uint64_t context_id);
  const std::string& name() const { return description_.name(); }
  const google::protobuf::RepeatedPtrField<v1::KernelParameter>& parameters()
      const {
    return description_.parameters();
  }
  // Returns an attribute, by its name in KernelDescription, on a device. Waits
  // for the daemon. NOT_FOUND: there is no such attribute.
  absl::StatusOr<int64_t> Attribute(const std::string& name,
                                    uint32_t device) const;
  // Sets an attribute on a device, in all contexts.
  absl::Status SetAttribute(const std::string& name, int64_t value,
                            uint32_t device);
  // The limit that the program has set for the dynamic shared memory of a
  // block, in bytes.
  int64_t dynamic_shared_limit() const { return dynamic_shared_limit_; }
  void set_dynamic_shared_limit(int64_t bytes) {
    dynamic_shared_limit_ = bytes;
  }
  // Returns the result that CUDA has for a launch with blocks of this size:
  // INVALID_VALUE beyond the kernel's launch bounds, LAUNCH_OUT_OF_RESOURCES if
  // the registers do not suffice.
  CUresult CheckBlock(const Dim3& block) const;
  // CUDA_ERROR_INVALID_VALUE: a block may not have this much dynamic shared
  // memory.
  CUresult CheckDynamicShared(uint64_t bytes) const;
  // True if the kernel was compiled for clusters.
  bool has_clusters() const { return has_clusters_; }

 private:
  const std::weak_ptr<Module> module_;
  const uint64_t module_context_id_;  // 0: of a library
  const Kernel kernel_;
  const v1::KernelDescription description_;
  const bool has_clusters_;
  // The most threads of a block that may be launched.
  const uint64_t max_threads_;
  const uint64_t registers_;  // of a thread
  std::atomic<int64_t> dynamic_shared_limit_;
  absl::Mutex mutex_;
  // The kernel of a library in each context, by the context's id. Empty for a
  // kernel of a module.
  std::map<uint64_t, Kernel> in_contexts_ ABSL_GUARDED_BY(mutex_);
  // The attributes that the program has set, which later contexts get, too.
  std::map<std::pair<std::string, uint32_t>, int64_t> attributes_
      ABSL_GUARDED_BY(mutex_);
};

using FunctionTable = HandleTable<CUfunction, Function>;

// A CUmodule or a CUlibrary. A module belongs to one context. Each context has
// its own variables of a library: the first context of each device uses the
// code that Load has loaded, and the code is loaded once more for each later
// context. Thread-safe.
class Module : public std::enable_shared_from_this<Module> {
 public:
  // Waits until the daemon has loaded the image. `context` is null for a
  // library.
  static absl::StatusOr<std::shared_ptr<Module>> Load(Session& session,
                                                      const Image& image,
                                                      const Context* context);

  // 0 and null for a library.
  uint64_t context_id() const { return context_id_; }
  CUcontext context() const { return context_; }
  const std::vector<std::string>& kernel_names() const { return names_; }
  // Returns the code with the variables of a context. REQUIRES: for a module,
  // the context is the module's own. Does not wait.
  absl::StatusOr<holdfast::Module> In(const Context& context);
  // Forgets the variables of a context that has ended.
  void EndContext(uint64_t context_id);
  // Returns the handle of a kernel; equal names have equal handles. The first
  // call waits, unless the kernel was described when the module was loaded.
  // NOT_FOUND: there is no such kernel.
  absl::StatusOr<CUfunction> GetFunction(const std::string& name,
                                         FunctionTable& functions);

 private:
  Module(Session& session, ObjectCode object, holdfast::Module loaded,
         const Context* context, std::vector<std::string> names,
         std::map<std::string, v1::KernelDescription> descriptions)
      : session_(session),
        object_(std::move(object)),
        loaded_(std::move(loaded)),
        context_id_(context == nullptr ? 0 : context->id()),
        context_(context == nullptr ? nullptr : context->handle()),
        names_(std::move(names)),
        descriptions_(std::move(descriptions)) {}

  // Returns the kernel's description from descriptions_. If it is not there,
  // gets it from the daemon, and waits.
  absl::StatusOr<v1::KernelDescription> DescriptionOf(
      const Kernel& kernel, const std::string& name) const;

  Session& session_;
  const ObjectCode object_;
  const holdfast::Module loaded_;
  const uint64_t context_id_;
  const CUcontext context_;
  const std::vector<std::string> names_;
  // The descriptions of the kernels, by name. Empty if there are too many
  // kernels to describe.
  const std::map<std::string, v1::KernelDescription> descriptions_;
  absl::Mutex mutex_;
  std::map<std::string, CUfunction> functions_ ABSL_GUARDED_BY(mutex_);
  // The code of a library in each context, by the context's id. Empty for a
  // module.
  std::map<uint64_t, holdfast::Module> in_contexts_ ABSL_GUARDED_BY(mutex_);
  // The program's numbers of the devices on which a context has used loaded_.
  std::set<int> used_devices_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_MODULE_H_
