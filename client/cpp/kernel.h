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
#include "holdfast/v1/module_commands.pb.h"

namespace holdfast {

class LoadedModule;
struct SessionState;

// A kernel of a module, which lives as long as the kernel does. A value; made
// by Module::GetKernel, launched by Launch (launch.h). Copies name the same
// kernel. Thread-safe.
class Kernel {
 public:
  // For Module::GetKernel alone.
  Kernel(std::shared_ptr<LoadedModule> module, uint64_t handle,
         uint64_t sequence)
      : module_(std::move(module)), handle_(handle), sequence_(sequence) {}

  // The name of the kernel in commands; never 0.
  uint64_t handle() const { return handle_; }
  // That of the module.
  const std::shared_ptr<SessionState>& session() const;
  // Why there is no such kernel, if that is known by now; as
  // Resource::status().
  absl::Status status() const;

  // Name in the object, attributes on this device, parameters. Waits. Here and
  // below, without a device: the first of the session's. NOT_FOUND: there is no
  // such kernel.
  absl::StatusOr<v1::KernelDescription> Describe(
      std::optional<uint32_t> device = std::nullopt) const;

  // As in KernelDescription.attributes:
  // "preferred_shared_memory_carveout". Does not wait. Holds for launches after
  // it, on that device.
  absl::Status SetAttribute(
      const std::string& attribute, int64_t value,
      std::optional<uint32_t> device = std::nullopt) const;

  // `query` without its kernel and device; occupancy.h is more convenient.
  // Waits.
  absl::StatusOr<v1::Occupancy> Query(
      v1::QueryOccupancy query,
      std::optional<uint32_t> device = std::nullopt) const;

 private:
  // The ordinal, or that of the session's first device.
  uint32_t OrFirst(std::optional<uint32_t> device) const;

  std::shared_ptr<LoadedModule> module_;
  uint64_t handle_;
  uint64_t sequence_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_KERNEL_H_
