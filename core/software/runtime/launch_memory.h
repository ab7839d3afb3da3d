// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_LAUNCH_MEMORY_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_LAUNCH_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/software/abi/window.h"

namespace holdfast::software {

// Memory in the window for one launch: its parameters, which kernels may read
// through pointers, and the workspace of a cooperative launch. Memory of
// earlier launches is reused, so that a launch need not wait for the operating
// system.
class LaunchMemory {
 public:
  // Copies `bytes` bytes of parameters. Check ok() before use.
  LaunchMemory(const void* parameters, size_t bytes);
  // REQUIRES: no kernel of the launch is running any more.
  ~LaunchMemory();
  LaunchMemory(const LaunchMemory&) = delete;
  LaunchMemory& operator=(const LaunchMemory&) = delete;

  // False: the window has no room.
  bool ok() const { return memory_ != nullptr; }
  // Returns the parameters, valid as long as this object. At least 64 bytes can
  // be read, even without parameters, because generated code reads there for
  // lanes that do not take part.
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
