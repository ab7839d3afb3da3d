// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/thread_refusal.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include <atomic>
#include <limits>

namespace holdfast::testing {
namespace {

constexpr int kAll = std::numeric_limits<int>::max();

// The threads that the process can still start.
std::atomic<int> allowed_threads{kAll};

// A sanitizer has its own pthread_create.
[[maybe_unused]] bool TakeThread() {
  int allowed = allowed_threads;
  while (allowed > 0 && allowed != kAll &&
         !allowed_threads.compare_exchange_weak(allowed, allowed - 1)) {
  }
  return allowed > 0;
}

}  // namespace

ThreadRefusal::ThreadRefusal(int allowed) { allowed_threads = allowed; }
ThreadRefusal::~ThreadRefusal() { allowed_threads = kAll; }

}  // namespace holdfast::testing

#if !defined(HOLDFAST_ASAN) && !defined(HOLDFAST_TSAN)
extern "C" int pthread_create(pthread_t* thread,
                              const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) noexcept {
  using Create =
      int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create =
      reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (!holdfast::testing::TakeThread()) return EAGAIN;
  return create(thread, attributes, run, argument);
}
#endif
