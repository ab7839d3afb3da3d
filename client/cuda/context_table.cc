// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/context_table.h"

#include <algorithm>
#include <utility>

#include "client/cuda/handle_table.h"

namespace holdfast::libcuda {

ContextTable::ContextTable(std::vector<Device> devices)
    : devices_(std::move(devices)) {
  absl::MutexLock lock(&mutex_);
  for (int i = 0; i < static_cast<int>(devices_.size()); ++i) {
    primaries_.push_back({.handle = NewHandle(i)});
  }
}

CUcontext ContextTable::NewHandle(int ordinal) {
  const auto handle = reinterpret_cast<CUcontext>(NewHandleValue());
  contexts_[handle] = {.ordinal = ordinal, .context = nullptr};
  return handle;
}

std::shared_ptr<Context> ContextTable::Make(int ordinal, unsigned flags,
                                            CUcontext handle) const {
  const Device& device = devices_[static_cast<size_t>(ordinal)];
  return std::make_shared<Context>(device.device, ordinal, flags, handle,
                                   device.limits);
}

std::shared_ptr<Context> ContextTable::Create(int ordinal, unsigned flags) {
  absl::MutexLock lock(&mutex_);
  const CUcontext handle = NewHandle(ordinal);
  return contexts_[handle].context = Make(ordinal, flags, handle);
}

std::shared_ptr<Context> ContextTable::Find(CUcontext handle) const {
  absl::MutexLock lock(&mutex_);
  const auto found = contexts_.find(handle);
  return found == contexts_.end() ? nullptr : found->second.context;
}

int ContextTable::OrdinalOf(CUcontext handle) const {
  absl::MutexLock lock(&mutex_);
  const auto found = contexts_.find(handle);
  return found == contexts_.end() ? -1 : found->second.ordinal;
}

std::shared_ptr<Context> ContextTable::Remove(CUcontext handle) {
  absl::MutexLock lock(&mutex_);
  const auto found = contexts_.find(handle);
  return found == contexts_.end()
             ? nullptr
             : std::exchange(found->second.context, nullptr);
}

CUcontext ContextTable::Retain(int ordinal) {
  absl::MutexLock lock(&mutex_);
  Primary& primary = Of(ordinal);
  std::shared_ptr<Context>& context = contexts_[primary.handle].context;
  if (context == nullptr) {
    context = Make(ordinal, primary.flags, primary.handle);
  }
  ++primary.users;
  return primary.handle;
}

bool ContextTable::Release(int ordinal, std::shared_ptr<Context>* ended) {
  absl::MutexLock lock(&mutex_);
  Primary& primary = Of(ordinal);
  if (primary.users == 0) return false;
  if (--primary.users == 0) {
    *ended = std::exchange(contexts_[primary.handle].context, nullptr);
  }
  return true;
}

std::shared_ptr<Context> ContextTable::Reset(int ordinal) {
  absl::MutexLock lock(&mutex_);
  return std::exchange(contexts_[Of(ordinal).handle].context, nullptr);
}

bool ContextTable::IsActive(int ordinal) const {
  absl::MutexLock lock(&mutex_);
  const Primary& primary = primaries_[static_cast<size_t>(ordinal)];
  return contexts_.at(primary.handle).context != nullptr;
}

unsigned ContextTable::Flags(int ordinal) const {
  absl::MutexLock lock(&mutex_);
  return primaries_[static_cast<size_t>(ordinal)].flags;
}

void ContextTable::SetFlags(int ordinal, unsigned flags) {
  absl::MutexLock lock(&mutex_);
  Primary& primary = Of(ordinal);
  primary.flags = flags;
  const std::shared_ptr<Context>& context = contexts_[primary.handle].context;
  if (context != nullptr) context->flags() = flags;
}

bool ContextTable::IsPrimary(CUcontext handle) const {
  absl::MutexLock lock(&mutex_);
  return std::any_of(
      primaries_.begin(), primaries_.end(),
      [&](const Primary& primary) { return primary.handle == handle; });
}

}  // namespace holdfast::libcuda
