// SPDX-License-Identifier: Apache-2.0
//
// Addresses for the variables of modules. They lie behind the window of
// executable.h in the same reservation, so that no allocation of the driver
// can meet them.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_DEVICE_WINDOW_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_DEVICE_WINDOW_H_

#include <cstddef>
#include <cstdint>

namespace holdfast::software {

// Zeroed pages; unmapped when destroyed. Its addresses are not used again, so
// that a stale pointer faults.
class ModuleMemory {
 public:
  ModuleMemory() = default;
  explicit ModuleMemory(size_t bytes);
  ModuleMemory(ModuleMemory&& other) noexcept;
  ModuleMemory& operator=(ModuleMemory&& other) noexcept;
  ~ModuleMemory();

  uint8_t* data() const { return data_; }  // null: out of memory

 private:
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_DEVICE_WINDOW_H_
