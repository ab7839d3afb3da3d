// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_CODE_STORE_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_CODE_STORE_H_

#include "core/base/code_store.h"

namespace holdfast::software::jit {

// Makes the default ObjectCache use `store`, which is copied. REQUIRES: called
// once, before the first launch; any thread may call the store's functions, at
// any time until the process ends.
void SetCodeStore(const CodeStore& store);

// Returns the store; null if none has been set. Thread-safe.
const CodeStore* GetCodeStore();

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_CODE_STORE_H_
