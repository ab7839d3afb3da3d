// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_CONTEXT_TABLE_H_
#define HOLDFAST_CLIENT_CUDA_CONTEXT_TABLE_H_

#include "absl/synchronization/mutex.h"
#include "client/cuda/context.h"
#include "core/cuda/context_table.h"

namespace holdfast::libcuda {

using ContextTable = cuda::ContextTable<Context, absl::Mutex, absl::MutexLock>;

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_CONTEXT_TABLE_H_
