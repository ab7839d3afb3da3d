// SPDX-License-Identifier: Apache-2.0
//
// A system that allows no more threads, as under ulimit -u or TasksMax=.
//
//   ThreadRefusal refusal;  // pthread_create fails with EAGAIN
//   EXPECT_THAT(Begin(), StatusIs(absl::StatusCode::kResourceExhausted));
//
// Replaces pthread_create in the whole test program, in libraries that it loads
// as well. Under a sanitizer, which has a pthread_create of its own, threads
// are not refused: such a test begins with
//
//   if (!ThreadRefusal::kWorks) GTEST_SKIP();
#ifndef HOLDFAST_TESTS_TESTING_THREAD_REFUSAL_H_
#define HOLDFAST_TESTS_TESTING_THREAD_REFUSAL_H_

#include "core/base/sanitizer.h"

namespace holdfast::testing {

// Refuses every thread of the process while it lives.
class ThreadRefusal {
 public:
  static constexpr bool kWorks = !kSanitized;

  ThreadRefusal();
  ~ThreadRefusal();
  ThreadRefusal(const ThreadRefusal&) = delete;
  ThreadRefusal& operator=(const ThreadRefusal&) = delete;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_TESTING_THREAD_REFUSAL_H_
