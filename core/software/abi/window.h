// SPDX-License-Identifier: Apache-2.0
//
// The window: one range of addresses for all memory that kernels may access,
// and for nothing else. Generated code checks every address against it
// (jit/address_check.cc), so nothing that this process trusts may lie in it: no
// return address, no pointer to code, no structure of the runtime. See
// core/software/README.md for its contents.
#ifndef HOLDFAST_CORE_SOFTWARE_ABI_WINDOW_H_
#define HOLDFAST_CORE_SOFTWARE_ABI_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/software/abi/address_space.h"

namespace holdfast::software {

// Bytes before and after the window that are reserved but never mapped. An
// access that starts within them faults.
inline constexpr size_t kWindowGuardBytes = size_t{4} << 30;

// `size` is a power of two, and `base` a multiple of it, so that a check of an
// address needs no subtraction. 4 TiB, or down to 32 GiB in a process with
// limited address space. `size` is 0, and no kernel runs, if there is less.
struct KernelWindow {
  uintptr_t base = 0;
  size_t size = 0;

  // Returns true if all bytes lie in the window; does not overflow.
  bool Contains(uintptr_t address, size_t bytes) const {
    return bytes <= size && address - base <= size - bytes;
  }
};

// Returns the window, reserved on first use. Never released, so that its
// addresses never name other memory.
const KernelWindow& GetKernelWindow();

// Returns true if the range of arenas (core/base/arena_range.h) is a part of
// the window. It is then reserved for the program, which maps memory there that
// kernels reach at the same addresses.
bool HasArenaRange();

// Half of the rest of the window, for device memory, which the driver maps at
// addresses that it chooses. The runtime uses the other half.
struct DeviceWindow {
  uintptr_t base = 0;
  size_t size = 0;
};
const DeviceWindow& GetDeviceWindow();

// Hands out the addresses of the device window.
AddressSpace& GetAddressSpace();

// Memory in the runtime's part of the window: shared and local memory,
// parameters, variables of modules, the heap of device code. Starts as zeros.
// Thread-compatible.
//
// Each range has guards of its own, so that an overrun faults.
class WindowMemory {
 public:
  // The minimum of unmapped bytes between two ranges.
  static constexpr size_t kLeastGuardBytes = size_t{64} << 10;

  // Maps at least `bytes`, in whole pages, with unmapped guards before and
  // after. Returns null if there are no addresses or no memory. REQUIRES:
  // `bytes` > 0.
  static std::unique_ptr<WindowMemory> Map(
      size_t bytes, size_t guard_bytes = kLeastGuardBytes);
  // As Map, but the bytes are not accessible: the owner opens parts of them by
  // mprotect. Until then no limit of memory counts them.
  static std::unique_ptr<WindowMemory> MapClosed(
      size_t bytes, size_t guard_bytes = kLeastGuardBytes);
  // Unmaps the memory; its addresses may be handed out again.
  ~WindowMemory();
  WindowMemory(const WindowMemory&) = delete;
  WindowMemory& operator=(const WindowMemory&) = delete;

  // Kernels can change the bytes that are accessible.
  uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  WindowMemory() = default;

  std::unique_ptr<AddressRange> range_;
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_ABI_WINDOW_H_
