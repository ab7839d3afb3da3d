// SPDX-License-Identifier: Apache-2.0
//
// The number of CPU threads that run kernels. The device reports it as its
// number of multiprocessors, and WorkerPool starts the threads.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_THREAD_COUNT_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_THREAD_COUNT_H_

#include "absl/strings/string_view.h"

namespace holdfast::software {

inline constexpr int kMaxThreads = 1024;

// Reads a value of HOLDFAST_SOFTWARE_THREADS. Returns false, and leaves
// *threads alone, if it is not a number from 1 to kMaxThreads.
bool ParseThreads(absl::string_view text, int* threads);

// Returns the value of HOLDFAST_SOFTWARE_THREADS. If it is not set, or
// ParseThreads refuses it: the number of CPUs that this process may use, at
// most kMaxThreads.
int ThreadCount();

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_THREAD_COUNT_H_
