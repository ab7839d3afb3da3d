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

// CU_LAUNCH_ATTRIBUTE_*: one std::optional field for each row of
// proto/launch_attributes.inc; absent means not set. The events are borrowed
// for the call.
struct LaunchAttributes {
  struct ProgrammaticEvent {
    // Recorded when the kernel's blocks have triggered it, for programmatic
    // dependencies between launches.
    const Event* event = nullptr;
    // Triggers at the start of the blocks instead of when each block triggers
    // it.
    bool trigger_at_block_start = false;
  };

#define HOLDFAST_LAUNCH_ATTRIBUTE(name, Name, CType, CudaType, C_KIND, \
                                  CUDA_ID, value, where, software)     \
  std::optional<CudaType> name;
#include "proto/launch_attributes.inc"
};

// A launch without its kernel and arguments. A value type; it refers to the
// events of its attributes.
struct LaunchConfig {
  Dim3 grid;                    // in blocks, with and without clusters
  Dim3 block;                   // in threads
  std::optional<Dim3> cluster;  // in blocks; must divide the grid
  // Bytes of each block, in addition to the kernel's static shared memory.
  uint32_t dynamic_shared_bytes = 0;
  // The whole grid is resident at once, so that its blocks can wait for each
  // other.
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

// REQUIRES: kernel and stream have the same context.
// INVALID_ARGUMENT: wrong number or size of arguments; a zero dimension; a
// cluster that does not divide the grid.
// OUT_OF_RANGE: a grid, block, shared memory or cooperative grid over a limit.
// FAILED_PRECONDITION: the device has no clusters or no cooperative launches.
// Asynchronous: returns once the launch is in the stream. Later calls return
// errors of the kernel.
absl::Status Launch(const Stream& stream, const LaunchConfig& config,
                    const Kernel& kernel,
                    absl::Span<const KernelArgument> arguments);

// Makes all checks of Launch and raises the kernel's limit of dynamic shared
// memory if the launch needs more, but does not launch. For later launches,
// such as launches of a graph's nodes.
absl::Status PrepareLaunch(const LaunchConfig& config, const Kernel& kernel,
                           absl::Span<const KernelArgument> arguments);

// The checks of PrepareLaunch that need no driver, against the stored limits of
// context and kernel. CheckGeometry checks dimensions, threads and clusters;
// CheckArguments checks the number and sizes of arguments.
absl::Status CheckGeometry(const LaunchConfig& config, const Kernel& kernel);
absl::Status CheckArguments(const Kernel& kernel,
                            absl::Span<const KernelArgument> arguments);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_LAUNCH_H_
