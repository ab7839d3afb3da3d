// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/device_window.h"

#include <sys/mman.h>

#include <atomic>
#include <utility>

#include "core/software/runtime/executable.h"

namespace holdfast::software {
namespace {

constexpr size_t kWindowBytes = size_t{1} << 40;
constexpr size_t kModuleBytes = size_t{1} << 38;
constexpr size_t kPage = 4096;

void* Reserve(size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

}  // namespace

const DeviceWindow& GetDeviceWindow() {
  static const DeviceWindow window = [] {
    void* at = Reserve(kWindowBytes + kModuleBytes);
    return DeviceWindow{reinterpret_cast<uintptr_t>(at),
                        at == nullptr ? 0 : kWindowBytes};
  }();
  return window;
}

ModuleMemory::ModuleMemory(size_t bytes)
    : bytes_((bytes + kPage - 1) / kPage * kPage) {
  static std::atomic<size_t> used{0};
  const DeviceWindow& window = GetDeviceWindow();
  if (bytes == 0 || window.size == 0 || bytes_ > kModuleBytes) return;
  // A page between neighbours catches overruns.
  const size_t offset = used.fetch_add(bytes_ + kPage);
  if (offset > kModuleBytes - bytes_) return;
  void* at = reinterpret_cast<void*>(window.base + kWindowBytes + offset);
  if (mprotect(at, bytes_, PROT_READ | PROT_WRITE) == 0) {
    data_ = static_cast<uint8_t*>(at);
  }
}

ModuleMemory::ModuleMemory(ModuleMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

ModuleMemory& ModuleMemory::operator=(ModuleMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

ModuleMemory::~ModuleMemory() {
  if (data_ == nullptr) return;
  madvise(data_, bytes_, MADV_DONTNEED);
  mprotect(data_, bytes_, PROT_NONE);
}

}  // namespace holdfast::software
