// SPDX-License-Identifier: Apache-2.0
//
// Launches a kernel: cuLaunchKernelEx. Makes all checks for which the driver
// would only return INVALID_VALUE, with messages that name the limit and the
// value.
//
//   LaunchConfig config{.grid = {196}, .block = {256}};
//   KernelArgument arguments[] = {KernelArgument::Of(address), ...};
//   HOLDFAST_RETURN_IF_ERROR(Launch(*stream, config, *kernel, arguments));
#ifndef HOLDFAST_CORE_CUDA_LAUNCH_H_
#define HOLDFAST_CORE_CUDA_LAUNCH_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/cuda/event.h"
#include "core/cuda/kernel.h"
#include "core/cuda/stream.h"
#include "cuda.h"

namespace holdfast::cuda {

// Extents of a grid, a block or a cluster. Each is at least 1.
struct Dim3 {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;

  bool operator==(const Dim3&) const = default;
};

// The attributes of a launch (CU_LAUNCH_ATTRIBUTE_*): one std::optional field
// for each row of proto/launch_attributes.inc. An attribute without a value is
// not set. Events are borrowed.
struct LaunchAttributes {
  struct ProgrammaticEvent {
    // The event to record when all blocks of the kernel have triggered it, for
    // programmatic dependencies between launches.
    const Event* event = nullptr;
    // True: the start of a block counts as its trigger.
    bool trigger_at_block_start = false;
  };

#define HOLDFAST_LAUNCH_ATTRIBUTE(name, Name, CType, CudaType, C_KIND, \
                                  CUDA_ID, value, where, software)     \
  std::optional<CudaType> name;
#include "proto/launch_attributes.inc"
};

// The parameters of a launch, without kernel and arguments. A value type. The
// events of its attributes must outlive each call that gets the config.
struct LaunchConfig {
  Dim3 grid;                    // in blocks, with and without clusters
  Dim3 block;                   // in threads
  std::optional<Dim3> cluster;  // in blocks; must divide the grid
  // Bytes of shared memory of each block, in addition to the kernel's static
  // shared memory.
  uint32_t dynamic_shared_bytes = 0;
  // True: all blocks of the grid run at the same time, so that they can wait
  // for each other.
  bool cooperative = false;
  LaunchAttributes attributes;
};

// One kernel argument: `size` bytes at `data`, borrowed for the call.
struct KernelArgument {
  const void* data = nullptr;
  size_t size = 0;

  // `value` must outlive the launch call; the driver copies its bytes.
  template <typename T>
  static KernelArgument Of(const T& value) {
    return {&value, sizeof value};
  }
};

// Enqueues a launch of the kernel, and returns before the kernel runs. Later
// calls return errors of the kernel. REQUIRES: kernel and stream have the same
// context. INVALID_ARGUMENT: the number or the size of arguments is wrong, a
// dimension is 0, or the cluster does not divide the grid. OUT_OF_RANGE: the
// grid, the block, the shared memory or a cooperative grid exceeds a limit.
// FAILED_PRECONDITION: the device has no clusters or no cooperative launches.
absl::Status Launch(const Stream& stream, const LaunchConfig& config,
                    const Kernel& kernel,
                    absl::Span<const KernelArgument> arguments);

// Makes all checks of Launch, and raises the kernel's limit of dynamic shared
// memory if the launch needs more. Does not launch. Used for kernels that are
// launched later, such as nodes of graphs.
absl::Status PrepareLaunch(const LaunchConfig& config, const Kernel& kernel,
                           absl::Span<const KernelArgument> arguments);

// Make the checks of PrepareLaunch that need only the stored limits of context
// and kernel, and no call of the driver. CheckGeometry checks dimensions,
// threads and clusters; CheckArguments checks the number and the sizes of
// arguments.
absl::Status CheckGeometry(const LaunchConfig& config, const Kernel& kernel);
absl::Status CheckArguments(const Kernel& kernel,
                            absl::Span<const KernelArgument> arguments);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_LAUNCH_H_
