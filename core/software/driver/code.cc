// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/code.h"

#include <utility>

#include "core/software/base/mutex.h"
#include "core/software/driver/device.h"

namespace holdfast::software {

Code::Code(std::unique_ptr<Executable> image, const Context* owner,
           MemoryMap& memory)
    : image_(std::move(image)),
      owner_(owner == nullptr ? 0 : owner->id()),
      memory_(memory) {
  if (owner != nullptr) Publish(*image_, owner->device().ordinal());
}

Code::~Code() {
  if (owner_ != 0) Withdraw(*image_);
  for (const auto& [context, copy] : copies_) Withdraw(*copy);
}

std::shared_ptr<Executable> Code::For(const Context& context) {
  if (owner_ != 0) return image_;
  MutexLock lock(&mutex_);
  std::shared_ptr<Executable>& copy = copies_[context.id()];
  if (copy != nullptr) return copy;
  // The first copy is the image itself; its variables are as they were loaded.
  copy = image_used_ ? image_->Clone() : image_;
  if (copy == nullptr) {
    copies_.erase(context.id());
    return nullptr;
  }
  image_used_ = true;
  Publish(*copy, context.device().ordinal());
  return copy;
}

void Code::EndContext(uint64_t context_id) {
  MutexLock lock(&mutex_);
  const auto it = copies_.find(context_id);
  if (it == copies_.end()) return;
  Withdraw(*it->second);
  copies_.erase(it);
}

void Code::Publish(const Executable& copy, CUdevice device) {
  for (const GlobalVariable& variable : copy.globals()) {
    Region region;
    region.address = reinterpret_cast<uintptr_t>(variable.address);
    region.size = variable.size;
    region.kind = MemoryKind::kGlobal;
    region.device = device;
    memory_.Insert(std::move(region));
  }
}

void Code::Withdraw(const Executable& copy) {
  for (const GlobalVariable& variable : copy.globals()) {
    memory_.Remove(reinterpret_cast<uintptr_t>(variable.address),
                   {MemoryKind::kGlobal});
  }
}

}  // namespace holdfast::software
