// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/code_store.h"

#include <atomic>

namespace holdfast::software::jit {
namespace {

std::atomic<const CodeStore*> g_store{nullptr};

}  // namespace

void SetCodeStore(const CodeStore& store) { g_store = new CodeStore(store); }

const CodeStore* GetCodeStore() {
  return g_store.load(std::memory_order_acquire);
}

}  // namespace holdfast::software::jit
