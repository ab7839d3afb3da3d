// SPDX-License-Identifier: Apache-2.0
//
// What generated code and the runtime agree on. The emitter reads these
// structures by offset.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_ABI_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_ABI_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast::software {

// One launch; the same for all its workers.
struct LaunchContext {
  const uint8_t* parameters = nullptr;
  const std::atomic<bool>* cancel = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
};

// One worker thread while it runs blocks. Generated code keeps `block` and
// `warp` up to date, so that a fault can say where it happened.
struct WorkerContext {
  uint8_t* shared = nullptr;
  uint64_t block = 0;
  uint64_t warp = 0;
  void* escape = nullptr;  // the stack to return to when a launch is given up
};

// Runs warps [warp_begin, warp_end) of each of blocks [block_begin, block_end).
using KernelFunction = void(const LaunchContext*, WorkerContext*,
                            uint64_t block_begin, uint64_t block_end,
                            uint64_t warp_begin, uint64_t warp_end);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_ABI_H_
