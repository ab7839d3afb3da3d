// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/thread_refusal.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include <atomic>

namespace holdfast::testing {
namespace {

std::atomic<int> refusals{0};

}  // namespace

ThreadRefusal::ThreadRefusal() { ++refusals; }
ThreadRefusal::~ThreadRefusal() { --refusals; }

}  // namespace holdfast::testing

#if !defined(HOLDFAST_ASAN) && !defined(HOLDFAST_TSAN)
extern "C" int pthread_create(pthread_t* thread,
                              const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) noexcept {
  using Create =
      int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create =
      reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (holdfast::testing::refusals > 0) return EAGAIN;
  return create(thread, attributes, run, argument);
}
#endif
