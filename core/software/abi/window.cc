// SPDX-License-Identifier: Apache-2.0
#include "core/software/abi/window.h"

#include <sys/mman.h>

#include <utility>

#include "core/base/arena_range.h"

namespace holdfast::software {
namespace {

// The same place in every process, if it is free, so that a successor can map
// what an executor left behind at the addresses that it had. Linux puts nothing
// at the first two, see arena_range.h; the second leaves arenas out, for a
// program that has some already. The third is for ThreadSanitizer, which leaves
// less room.
struct Place {
  uintptr_t base;
  size_t size;
};
constexpr Place kPreferred[] = {
    {kArenaRangeBase, 2 * kArenaRangeBytes},
    {kArenaRangeBase + kArenaRangeBytes, kArenaRangeBytes},
    {0x7ec0'0000'0000, size_t{1} << 38},
};
static_assert(kArenaRangeBase % (2 * kArenaRangeBytes) == 0);

// A process whose addresses are limited (ulimit -v) gets what there is.
constexpr size_t kLargestBytes = size_t{1} << 41;
constexpr size_t kLeastBytes = size_t{1} << 35;

constexpr int kReserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

bool ReserveAt(const Place& place) {
  auto* at = reinterpret_cast<void*>(place.base - kWindowGuardBytes);
  const size_t bytes = place.size + 2 * kWindowGuardBytes;
  void* got = mmap(at, bytes, PROT_NONE, kReserve | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == at) return true;
  // A kernel that does not know the flag takes the address for a hint.
  if (got != MAP_FAILED) munmap(got, bytes);
  return false;
}

// Anywhere: reserves twice as much and keeps an aligned part of it.
KernelWindow ReserveSomewhere(size_t size) {
  const size_t bytes = 2 * size + 2 * kWindowGuardBytes;
  void* got = mmap(nullptr, bytes, PROT_NONE, kReserve, -1, 0);
  if (got == MAP_FAILED) return {};
  const auto begin = reinterpret_cast<uintptr_t>(got);
  const uintptr_t base = (begin + kWindowGuardBytes + size - 1) / size * size;
  const uintptr_t first = base - kWindowGuardBytes;
  const uintptr_t last = base + size + kWindowGuardBytes;
  if (first > begin) munmap(got, first - begin);
  if (begin + bytes > last) {
    munmap(reinterpret_cast<void*>(last), begin + bytes - last);
  }
  return {base, size};
}

KernelWindow Reserve() {
  for (const Place& place : kPreferred) {
    if (ReserveAt(place)) return {place.base, place.size};
  }
  for (size_t size = kLargestBytes; size >= kLeastBytes; size /= 2) {
    const KernelWindow window = ReserveSomewhere(size);
    if (window.size != 0) return window;
  }
  return {};
}

// All of the window but the arenas' range: one half is the device's, one the
// runtime's.
uintptr_t OwnBase() {
  const KernelWindow& window = GetKernelWindow();
  return window.base + (HasArenaRange() ? kArenaRangeBytes : 0);
}
size_t OwnBytes() {
  const KernelWindow& window = GetKernelWindow();
  return window.size - (OwnBase() - window.base);
}

AddressSpace& RuntimeSpace() {
  static AddressSpace& space =
      *new AddressSpace(OwnBase() + OwnBytes() / 2, OwnBytes() / 2);
  return space;
}

constexpr size_t RoundUpToPage(size_t bytes) {
  return (bytes + kPageSize - 1) / kPageSize * kPageSize;
}

}  // namespace

const KernelWindow& GetKernelWindow() {
  static const KernelWindow window = Reserve();
  return window;
}

bool HasArenaRange() {
  return GetKernelWindow().Contains(kArenaRangeBase, kArenaRangeBytes);
}

const DeviceWindow& GetDeviceWindow() {
  static const DeviceWindow window{OwnBase(), OwnBytes() / 2};
  return window;
}

AddressSpace& GetAddressSpace() {
  static AddressSpace& space =
      *new AddressSpace(GetDeviceWindow().base, GetDeviceWindow().size);
  return space;
}

std::unique_ptr<WindowMemory> WindowMemory::Map(size_t bytes,
                                                size_t guard_bytes) {
  auto memory = MapClosed(bytes, guard_bytes);
  if (memory == nullptr ||
      mprotect(memory->data(), memory->bytes(), PROT_READ | PROT_WRITE) != 0) {
    return nullptr;
  }
  return memory;
}

std::unique_ptr<WindowMemory> WindowMemory::MapClosed(size_t bytes,
                                                      size_t guard_bytes) {
  if (bytes == 0 || bytes > GetKernelWindow().size) return nullptr;
  const size_t size = RoundUpToPage(bytes);
  const size_t guard = RoundUpToPage(guard_bytes);
  auto range = RuntimeSpace().Reserve(size + 2 * guard, kPageSize, 0);
  if (range == nullptr) return nullptr;
  auto* data = reinterpret_cast<uint8_t*>(range->address() + guard);
  std::unique_ptr<WindowMemory> memory(new WindowMemory);
  memory->range_ = std::move(range);
  memory->data_ = data;
  memory->bytes_ = size;
  return memory;
}

// The addresses stay reserved.
WindowMemory::~WindowMemory() {
  mmap(data_, bytes_, PROT_NONE, kReserve | MAP_FIXED, -1, 0);
}

}  // namespace holdfast::software
