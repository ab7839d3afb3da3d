// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_LAUNCH_MEMORY_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_LAUNCH_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/software/runtime/window.h"

namespace holdfast::software {

// Memory in the window for one launch: its parameters, which kernels may read
// through pointers, and the workspace of a cooperative launch. Taken from a
// list of places, since a launch must not wait for the operating system.
class LaunchMemory {
 public:
  // Copies `bytes` of parameters. Check ok() before use. Memory that a launch
  // has given back is taken first.
  LaunchMemory(const void* parameters, size_t bytes);
  // No kernel of the launch may be running any more.
  ~LaunchMemory();
  LaunchMemory(const LaunchMemory&) = delete;
  LaunchMemory& operator=(const LaunchMemory&) = delete;

  // False: the window has no room.
  bool ok() const { return memory_ != nullptr; }
  // At least 64 bytes that can be read, even of a kernel without parameters:
  // generated code reads there for lanes that do not take part. Valid as long
  // as this object.
  const uint8_t* parameters() const;
  // Two words that start as zeros. The counter of the grid barrier and what
  // goes with it; see LaunchContext.
  uint32_t* workspace() const;

 private:
  std::unique_ptr<WindowMemory> memory_;
  bool reused_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_LAUNCH_MEMORY_H_
