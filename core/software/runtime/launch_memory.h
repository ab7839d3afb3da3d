// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_LAUNCH_MEMORY_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_LAUNCH_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/software/abi/window.h"

namespace holdfast::software {

// Memory in the window for one launch: its parameters, which kernels may read
// through pointers, and the workspace of a cooperative launch. Launches reuse
// the memory of earlier launches, so that a launch mostly needs no system call.
class LaunchMemory {
 public:
  // Takes memory, and copies `bytes` bytes of parameters to it. Check ok()
  // before use.
  LaunchMemory(const void* parameters, size_t bytes);
  // Keeps the memory for later launches. REQUIRES: no kernel of the launch
  // runs.
  ~LaunchMemory();
  LaunchMemory(const LaunchMemory&) = delete;
  LaunchMemory& operator=(const LaunchMemory&) = delete;

  // Returns false if the window had no room.
  bool ok() const { return memory_ != nullptr; }
  // Returns the parameters, which are valid as long as this object. At least 64
  // bytes are readable, even without parameters, because generated code reads
  // there for lanes that take no part in an access.
  const uint8_t* parameters() const;
  // Returns two words for the grid barrier, initially 0; see
  // LaunchContext::grid_workspace.
  uint32_t* workspace() const;

 private:
  std::unique_ptr<WindowMemory> memory_;
  bool reused_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_LAUNCH_MEMORY_H_
