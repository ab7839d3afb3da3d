// SPDX-License-Identifier: Apache-2.0
//
//   Launch(stream, {.grid = 196, .block = 256}, kernel, a, b, c, uint64_t{n});
#ifndef HOLDFAST_CLIENT_CPP_LAUNCH_H_
#define HOLDFAST_CLIENT_CPP_LAUNCH_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "client/cpp/argument.h"
#include "client/cpp/kernel.h"
#include "client/cpp/launch_attributes.h"
#include "client/cpp/stream.h"

namespace holdfast {

// A launch without its kernel and arguments. A value type.
struct LaunchConfig {
  // In blocks, also with clusters.
  Dim3 grid = {};
  // In threads.
  Dim3 block = {};
  // In blocks; each dimension must divide the grid's.
  std::optional<Dim3> cluster = {};
  // Bytes. Above 48 KiB the kernel's limit is raised as needed.
  uint32_t dynamic_shared_bytes = 0;
  // All blocks are resident at once, so that they may wait for each other.
  bool cooperative = false;
  LaunchAttributes attributes = {};
};

// Submits one launch. `arguments` has one entry for each parameter, in order.
// Refuses configurations that the device cannot run, as CheckLaunch
// (launch_check.h) does, and waits only where CheckLaunch waits. The daemon
// checks everything else before it launches, and the next call that waits
// reports the error. While the stream captures, adds a node to the graph
// instead. A 64-bit number that is an address in an arena of the session is
// replaced by the address that the byte has in kernels. INVALID_ARGUMENT: the
// arena belongs to another session.
absl::Status Launch(const Stream& stream, const LaunchConfig& config,
                    const Kernel& kernel, std::span<const Argument> arguments);

// Writes the fields of a v1::Launch; `stream` is a handle, 0 in a node of a
// graph.
void EncodeLaunch(uint64_t stream, const LaunchConfig& config,
                  const Kernel& kernel, std::span<const Argument> arguments,
                  WireWriter& writer);

// Submits a launch with values from which an Argument can be made.
template <typename... Arguments>
absl::Status Launch(const Stream& stream, const LaunchConfig& config,
                    const Kernel& kernel, const Arguments&... arguments) {
  const std::array<Argument, sizeof...(Arguments)> list = {
      Argument::Of(arguments)...};
  return Launch(stream, config, kernel, std::span<const Argument>(list));
}

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_LAUNCH_H_
