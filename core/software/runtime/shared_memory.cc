// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/shared_memory.h"

#include <memory>
#include <utility>
#include <vector>

#include "core/software/runtime/window.h"

namespace holdfast::software {

uint8_t* ThreadSharedMemory(size_t number) {
  thread_local std::vector<std::unique_ptr<WindowMemory>> arenas;
  while (arenas.size() <= number) {
    auto arena = WindowMemory::Map(kSharedMemoryBytes, kSharedGuardBytes);
    if (arena == nullptr) return nullptr;
    arenas.push_back(std::move(arena));
  }
  return arenas[number]->data();
}

}  // namespace holdfast::software
