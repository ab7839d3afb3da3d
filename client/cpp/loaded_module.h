// SPDX-License-Identifier: Apache-2.0
//
// The state that a Module and its Kernels share.
#ifndef HOLDFAST_CLIENT_CPP_LOADED_MODULE_H_
#define HOLDFAST_CLIENT_CPP_LOADED_MODULE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/compile/object_code.h"
#include "client/cpp/state/resource.h"

namespace holdfast {

// Owns the handles of a module and of its kernels. No command destroys a
// kernel, so the kernels' handles are freed when the module is unloaded.
// Thread-safe.
class LoadedModule : public Resource {
 public:
  // Submits the command that loads the object, which the daemon finds by its
  // hash. Does not wait.
  static absl::StatusOr<std::shared_ptr<LoadedModule>> Load(
      std::shared_ptr<SessionState> session, const ObjectCode& object);
  explicit LoadedModule(Resource resource) : Resource(std::move(resource)) {}
  // Unloads the module and frees its kernels' handles.
  ~LoadedModule();

  // A kernel, and the number of the command that made it.
  // CommandQueue::FailureOf returns that command's failure by the number.
  struct KernelEntry {
    uint64_t handle = 0;
    uint64_t sequence = 0;  // of GetKernel
  };
  // Returns the kernel with this name. The first call with a name submits the
  // command that makes the kernel. Does not wait. INVALID_ARGUMENT: the name is
  // not UTF-8.
  absl::StatusOr<KernelEntry> GetKernel(absl::string_view name);

 private:
  absl::Mutex mutex_;
  std::map<std::string, KernelEntry> kernels_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_LOADED_MODULE_H_
