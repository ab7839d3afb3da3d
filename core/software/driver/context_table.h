// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_CONTEXT_TABLE_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_CONTEXT_TABLE_H_

#include "core/cuda/context_table.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/context.h"

namespace holdfast::software {

using ContextTable = cuda::ContextTable<Context, Mutex, MutexLock>;

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_CONTEXT_TABLE_H_
