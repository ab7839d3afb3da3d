// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_MODULE_H_
#define HOLDFAST_CLIENT_CPP_MODULE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/buffer.h"
#include "client/cpp/compile/object_code.h"
#include "client/cpp/kernel.h"

namespace holdfast {

namespace v1 {
class ModuleDescription;
}  // namespace v1

// Object code that is loaded into a session. Made by Session::Load. A value
// type: the module is unloaded when its last copy, kernel and global is
// destroyed.
//
// A module is loaded by the object's SHA-256, so its bytes need not be sent:
//
//   HOLDFAST_ASSIGN_OR_RETURN(const Module module,
//                             session->Load(compilation.object));
//   HOLDFAST_ASSIGN_OR_RETURN(const Kernel kernel,
//                             module.GetKernel("vector_add<float>"));
class Module {
 public:
  // Loads the object on every device of the session. Does not wait.
  // INVALID_ARGUMENT: a name in `object` is not UTF-8.
  static absl::StatusOr<Module> Load(std::shared_ptr<SessionState> session,
                                     const ObjectCode& object);

  // Returns a kernel by its source-level name ("vector_add<float>") or its name
  // in the object. Does not wait. If there is no such kernel, the result is in
  // error, with NOT_FOUND and a list of the kernels. Equal names give the same
  // kernel.
  absl::StatusOr<Kernel> GetKernel(absl::string_view name) const;

  // Returns the names that the module's kernels have in the object, sorted.
  // Waits.
  absl::StatusOr<std::vector<std::string>> KernelNames() const;

  // Returns the names of the kernels. If the module has at most
  // `max_described_kernels` kernels, and at most 64, also returns the
  // descriptions of the kernels that the driver can describe, on the session's
  // first device. Waits.
  absl::StatusOr<v1::ModuleDescription> Describe(
      uint32_t max_described_kernels) const;

  // Returns a __device__ or __constant__ variable on a device, as a buffer. The
  // default is the session's first device. Waits. NOT_FOUND: there is no such
  // variable.
  absl::StatusOr<Buffer> GetGlobal(
      const std::string& name,
      std::optional<uint32_t> device = std::nullopt) const;

 private:
  explicit Module(std::shared_ptr<LoadedModule> loaded)
      : loaded_(std::move(loaded)) {}

  std::shared_ptr<LoadedModule> loaded_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_MODULE_H_
