// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/launch_memory.h"

#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

namespace holdfast::software {
namespace {

// The workspace comes first.
constexpr size_t kWorkspaceBytes = 64;
// Room for all parameters that CUDA allows a kernel (32764 bytes). Larger ones
// get memory of their own.
constexpr size_t kPlaceBytes = size_t{36} << 10;

std::mutex& PlacesMutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

// Places that no launch uses, under the mutex. The last one comes first, since
// it is in the cache.
std::vector<std::unique_ptr<WindowMemory>>& Places() {
  static auto& places = *new std::vector<std::unique_ptr<WindowMemory>>;
  return places;
}

std::unique_ptr<WindowMemory> TakePlace() {
  {
    std::lock_guard<std::mutex> lock(PlacesMutex());
    if (!Places().empty()) {
      auto place = std::move(Places().back());
      Places().pop_back();
      return place;
    }
  }
  return WindowMemory::Map(kPlaceBytes);
}

}  // namespace

LaunchMemory::LaunchMemory(const void* parameters, size_t bytes)
    : reused_(bytes <= kPlaceBytes - kWorkspaceBytes) {
  memory_ = reused_ ? TakePlace() : WindowMemory::Map(kWorkspaceBytes + bytes);
  if (memory_ == nullptr) return;
  std::memset(memory_->data(), 0, kWorkspaceBytes);
  if (bytes > 0) {
    std::memcpy(memory_->data() + kWorkspaceBytes, parameters, bytes);
  }
}

LaunchMemory::~LaunchMemory() {
  if (memory_ == nullptr || !reused_) return;
  std::lock_guard<std::mutex> lock(PlacesMutex());
  Places().push_back(std::move(memory_));
}

const uint8_t* LaunchMemory::parameters() const {
  return memory_->data() + kWorkspaceBytes;
}

uint32_t* LaunchMemory::workspace() const {
  return reinterpret_cast<uint32_t*>(memory_->data());
}

}  // namespace holdfast::software
