// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/local_memory.h"

#include <memory>

#include "core/software/abi/window.h"
#include "core/software/base/memory_room.h"

namespace holdfast::software {

uint8_t* ThreadLocalMemory(size_t bytes) {
  thread_local std::unique_ptr<WindowMemory> memory;
  if (memory == nullptr || memory->bytes() < bytes) {
    memory.reset();
    if (!HasMemoryRoom(bytes, RoomFor::kKernel)) return nullptr;
    memory = WindowMemory::Map(bytes);
  }
  return memory == nullptr ? nullptr : memory->data();
}

}  // namespace holdfast::software
