// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_LAUNCH_OPERANDS_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_LAUNCH_OPERANDS_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/cuda/kernel.h"
#include "core/cuda/launch.h"
#include "holdfast/v1/launch.pb.h"
#include "server/executor/command/operand_scope.h"

namespace holdfast::executor {

// The operands of a Launch message in CUDA's form, for a stream or a graph: the
// kernel, its configuration, and its arguments. The object has the memory that
// the arguments point to. It is filled in place, because it is large.
class LaunchOperands {
 public:
  LaunchOperands() = default;
  LaunchOperands(const LaunchOperands&) = delete;
  LaunchOperands& operator=(const LaunchOperands&) = delete;

  // Looks up the operands of `launch`, except its stream, and makes the checks
  // that core/cuda/launch.h does not make. Returns the error for the client.
  // REQUIRES: called once; `launch` and the kernel outlive this object.
  absl::Status Resolve(const OperandScope& scope, const v1::Launch& launch);

  // REQUIRES, for all three: Resolve has returned OK.
  const cuda::Kernel& kernel() const { return *kernel_; }
  const cuda::LaunchConfig& config() const { return config_; }
  absl::Span<const cuda::KernelArgument> arguments() const {
    return arguments_;
  }

 private:
  using Argument = cuda::KernelArgument;

  absl::Status ResolveKernel(const OperandScope& scope, uint64_t handle);
  absl::Status ResolveConfig(const OperandScope& scope,
                             const v1::Launch& launch);
  absl::StatusOr<Argument> ToArgument(const OperandScope& scope,
                                      const v1::Argument& argument);
  absl::StatusOr<Argument> BufferAddress(const OperandScope& scope,
                                         const v1::BufferArgument& argument);
  absl::StatusOr<Argument> Condition(const OperandScope& scope, uint32_t id);

  // Stores a value whose form in the message differs from the form that the
  // kernel takes.
  template <typename T>
  Argument Store(T value);
  template <typename T, typename Wide>
  absl::StatusOr<Argument> StoreNarrow(Wide value, absl::string_view type);

  const cuda::Kernel* kernel_ = nullptr;
  cuda::LaunchConfig config_;
  // The stored values. The space is reserved before, so that they do not move.
  absl::InlinedVector<uint64_t, 32> cells_;
  absl::InlinedVector<Argument, 32> arguments_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_LAUNCH_OPERANDS_H_
