// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/launch_memory.h"

#include <cstring>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/software/base/mutex.h"

namespace holdfast::software {
namespace {

// The workspace comes first.
constexpr size_t kWorkspaceBytes = 64;
// Room for all parameters that CUDA allows a kernel (32764 bytes). Larger ones
// get memory of their own.
constexpr size_t kPlaceBytes = size_t{36} << 10;

// Places that no launch uses, of all threads.
class Places {
 public:
  static Places& Get() {
    static Places& places = *new Places;
    return places;
  }

  // The place that came back last, since it is in the cache.
  std::unique_ptr<WindowMemory> Take() {
    {
      MutexLock lock(&mutex_);
      if (!free_.empty()) {
        auto place = std::move(free_.back());
        free_.pop_back();
        return place;
      }
    }
    return WindowMemory::Map(kPlaceBytes);
  }

  void Return(std::unique_ptr<WindowMemory> place) {
    MutexLock lock(&mutex_);
    free_.push_back(std::move(place));
  }

 private:
  Mutex mutex_;
  std::vector<std::unique_ptr<WindowMemory>> free_ ABSL_GUARDED_BY(mutex_);
};

// The place that a thread keeps for its next launch, so that a row of launches
// needs no lock.
class Spare {
 public:
  ~Spare() {
    if (place_ != nullptr) Places::Get().Return(std::move(place_));
  }

  std::unique_ptr<WindowMemory> Take() {
    return place_ == nullptr ? Places::Get().Take() : std::move(place_);
  }
  void Return(std::unique_ptr<WindowMemory> place) {
    if (place_ != nullptr) return Places::Get().Return(std::move(place));
    place_ = std::move(place);
  }

 private:
  std::unique_ptr<WindowMemory> place_;
};

thread_local Spare spare;

}  // namespace

LaunchMemory::LaunchMemory(const void* parameters, size_t bytes)
    : reused_(bytes <= kPlaceBytes - kWorkspaceBytes) {
  memory_ = reused_ ? spare.Take() : WindowMemory::Map(kWorkspaceBytes + bytes);
  if (memory_ == nullptr) return;
  std::memset(memory_->data(), 0, kWorkspaceBytes);
  if (bytes > 0) {
    std::memcpy(memory_->data() + kWorkspaceBytes, parameters, bytes);
  }
}

LaunchMemory::~LaunchMemory() {
  if (memory_ == nullptr || !reused_) return;
  spare.Return(std::move(memory_));
}

const uint8_t* LaunchMemory::parameters() const {
  return memory_->data() + kWorkspaceBytes;
}

uint32_t* LaunchMemory::workspace() const {
  return reinterpret_cast<uint32_t*>(memory_->data());
}

}  // namespace holdfast::software
