// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/thread_count.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/numbers.h"

namespace holdfast::software {
namespace {

int UsableCpus() {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0) return 1;
  return std::clamp(CPU_COUNT(&cpus), 1, kMaxThreads);
}

}  // namespace

bool ParseThreads(absl::string_view text, int* threads) {
  int parsed = 0;
  if (!absl::SimpleAtoi(text, &parsed) || parsed < 1 || parsed > kMaxThreads) {
    return false;
  }
  *threads = parsed;
  return true;
}

int ThreadCount() {
  int threads = UsableCpus();
  const char* setting = std::getenv("HOLDFAST_SOFTWARE_THREADS");
  if (setting != nullptr) ParseThreads(setting, &threads);
  return threads;
}

}  // namespace holdfast::software
