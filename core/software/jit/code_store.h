// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_CODE_STORE_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_CODE_STORE_H_

#include "core/base/code_store.h"

namespace holdfast::software::jit {

// Makes the default ObjectCache use a copy of `store`. REQUIRES: called once,
// before the first launch. Any thread may call the functions of `store` at any
// time until the process ends.
void SetCodeStore(const CodeStore& store);

// Returns the store, which lives as long as the process; null if none has been
// set. Thread-safe.
const CodeStore* GetCodeStore();

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_CODE_STORE_H_
