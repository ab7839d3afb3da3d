// SPDX-License-Identifier: Apache-2.0
//
// The window: one range of addresses that holds all memory that kernels may
// touch, and nothing else. Generated code tests every address against it
// (jit/address_check.cc), so nothing that this process trusts may lie in
// it: no return address, no pointer to code, no structure of the runtime.
// core/software/README.md says what it holds.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_WINDOW_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/software/runtime/address_space.h"

namespace holdfast::software {

// Bytes in front of the window and behind it that are reserved, too, and never
// mapped. An access that starts at most so far outside faults.
inline constexpr size_t kWindowGuardBytes = size_t{4} << 30;

// `size` is a power of two, and `base` a multiple of it, so that a test of an
// address needs no subtraction. A process without so many addresses has none:
// `size` is 0, and no kernel runs. 4 TiB, or down to 32 GiB in a process whose
// addresses are limited.
struct KernelWindow {
  uintptr_t base = 0;
  size_t size = 0;

  // All of the bytes, without overflow.
  bool Contains(uintptr_t address, size_t bytes) const {
    return bytes <= size && address - base <= size - bytes;
  }
};

// Reserved on first use; never released, so that no address in it can come to
// mean memory of something else.
const KernelWindow& GetKernelWindow();

// Is the arenas' range (core/base/arena_range.h) a part of the window? It is
// reserved, then, and the program's: it maps memory there that kernels reach at
// the address that it has in the program.
bool HasArenaRange();

// Half of the rest of the window: the memory of the device, which the driver
// maps at addresses that it chooses. The other half is the runtime's.
struct DeviceWindow {
  uintptr_t base = 0;
  size_t size = 0;
};
const DeviceWindow& GetDeviceWindow();

// Hands out the addresses of the device window.
AddressSpace& GetAddressSpace();

// Memory in the end of the window, which belongs to the runtime: shared
// and local memory, parameters, variables of modules, the heap of device code.
// Starts as zeros. Thread-compatible.
//
// Each range has its own guards, so that an overrun faults and reaches nothing.
class WindowMemory {
 public:
  // The least that lies between two ranges and is not mapped.
  static constexpr size_t kLeastGuardBytes = size_t{64} << 10;

  // At least `bytes`, whole pages, with `guard_bytes` in front and behind that
  // fault. Null if there are no addresses or no memory. `bytes` is not 0.
  static std::unique_ptr<WindowMemory> Map(
      size_t bytes, size_t guard_bytes = kLeastGuardBytes);
  // The bytes are gone; the addresses may be handed out again.
  ~WindowMemory();
  WindowMemory(const WindowMemory&) = delete;
  WindowMemory& operator=(const WindowMemory&) = delete;

  // Writable, and within the window: kernels can change what lies here.
  uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  WindowMemory() = default;

  std::unique_ptr<AddressRange> range_;
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_WINDOW_H_
