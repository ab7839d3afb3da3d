// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_KERNEL_H_
#define HOLDFAST_CLIENT_CPP_KERNEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace holdfast {

namespace v1 {
class KernelDescription;
class Occupancy;
class QueryOccupancy;
}  // namespace v1

class LoadedModule;
struct SessionState;

// A kernel of a module. Keeps the module loaded. Made by Module::GetKernel,
// launched by Launch (launch.h). A value: copies name the same kernel.
// Thread-safe.
class Kernel {
 public:
  // Used only by Module::GetKernel. `sequence` is the number of the command
  // that makes the kernel.
  Kernel(std::shared_ptr<LoadedModule> module, uint64_t handle,
         uint64_t sequence)
      : module_(std::move(module)), handle_(handle), sequence_(sequence) {}

  // The handle by which commands name the kernel; never 0.
  uint64_t handle() const { return handle_; }
  // The session of the module.
  const std::shared_ptr<SessionState>& session() const;
  // Returns the error of GetKernel if the daemon has reported it already, else
  // OK. Does not wait: after Session::Synchronize, OK means that the kernel
  // exists.
  absl::Status status() const;

  // Returns the kernel's name in the object, its attributes on this device and
  // its parameters. Waits. The default device of this and the next two methods
  // is the session's first device. NOT_FOUND: the module has no such kernel.
  absl::StatusOr<v1::KernelDescription> Describe(
      std::optional<uint32_t> device = std::nullopt) const;

  // Sets an attribute of KernelDescription.attributes, such as
  // "preferred_shared_memory_carveout", for later launches on that device. Does
  // not wait.
  absl::Status SetAttribute(
      const std::string& attribute, int64_t value,
      std::optional<uint32_t> device = std::nullopt) const;

  // Fills in the kernel and device of `query`, and returns the daemon's answer.
  // Waits. occupancy.h is more convenient.
  absl::StatusOr<v1::Occupancy> Query(
      v1::QueryOccupancy query,
      std::optional<uint32_t> device = std::nullopt) const;

 private:
  // Returns `device`, or the session's first device.
  uint32_t OrFirst(std::optional<uint32_t> device) const;

  std::shared_ptr<LoadedModule> module_;
  uint64_t handle_;
  uint64_t sequence_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_KERNEL_H_
