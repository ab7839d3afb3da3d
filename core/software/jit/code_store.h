// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_CODE_STORE_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_CODE_STORE_H_

#include "core/base/code_store.h"

namespace holdfast::software::jit {

// From now on generated objects are kept there. Both functions may be called
// by several threads at once, until the process ends. Once, before the first
// launch.
void SetCodeStore(const CodeStore& store);

// Null: none has been set.
const CodeStore* GetCodeStore();

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_CODE_STORE_H_
