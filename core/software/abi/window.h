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

// The number of bytes before and after the window that are reserved but never
// mapped. An access that starts there faults.
inline constexpr size_t kWindowGuardBytes = size_t{4} << 30;

// The place of the window. `size` is a power of two, and `base` is a multiple
// of `size`, so that the check of an address needs no subtraction. The size is
// 4 TiB; in a process with limited address space it is less, but at least 32
// GiB. If not even 32 GiB can be reserved, `size` is 0, and no kernel can run.
struct KernelWindow {
  uintptr_t base = 0;
  size_t size = 0;

  // Returns true if [address, address + bytes) lies in the window; does not
  // overflow.
  bool Contains(uintptr_t address, size_t bytes) const {
    return bytes <= size && address - base <= size - bytes;
  }
};

// Returns the window. The first call reserves it. It is never released, so its
// addresses never belong to other memory. Thread-safe, like all functions
// below.
const KernelWindow& GetKernelWindow();

// Returns true if the range of arenas (core/base/arena_range.h) is a part of
// the window. The range is then reserved for the program, which maps arenas
// over it, and kernels access the arenas at the same addresses.
bool HasArenaRange();

// The part of the window for device memory, in which the driver chooses
// addresses. It is half of the window without the range of arenas. The runtime
// uses the other half.
struct DeviceWindow {
  uintptr_t base = 0;
  size_t size = 0;
};
const DeviceWindow& GetDeviceWindow();

// Returns the address space of the device window. Valid until the process ends.
AddressSpace& GetAddressSpace();

// Memory in the runtime's part of the window, for shared and local memory,
// parameters, variables of modules, and the heap of device code. The bytes are
// zero at first. Unmapped guards before and after each memory make overruns
// fault. Thread-compatible.
class WindowMemory {
 public:
  // The default for the bytes of each guard.
  static constexpr size_t kLeastGuardBytes = size_t{64} << 10;

  // Maps at least `bytes`, in whole pages, with guards of `guard_bytes`.
  // Returns null if `bytes` is 0, or if there are no addresses or no memory.
  static std::unique_ptr<WindowMemory> Map(
      size_t bytes, size_t guard_bytes = kLeastGuardBytes);
  // Does the same as Map, but the bytes are not accessible: the owner makes
  // parts of them accessible by mprotect. Until then no limit of memory counts
  // them.
  static std::unique_ptr<WindowMemory> MapClosed(
      size_t bytes, size_t guard_bytes = kLeastGuardBytes);
  // Unmaps the memory and frees its addresses.
  ~WindowMemory();
  WindowMemory(const WindowMemory&) = delete;
  WindowMemory& operator=(const WindowMemory&) = delete;

  // The first byte. Kernels can change all bytes that are accessible.
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
