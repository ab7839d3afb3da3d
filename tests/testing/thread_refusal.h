// SPDX-License-Identifier: Apache-2.0
//
// Simulates a system that allows no more threads, as under ulimit -u or
// TasksMax=.
//
//   ThreadRefusal refusal;  // pthread_create fails with EAGAIN
//   EXPECT_THAT(Begin(), StatusIs(absl::StatusCode::kResourceExhausted));
//
// To test each thread of several that Begin starts, give the constructor 0, 1,
// 2, and so on.
//
// This library replaces pthread_create in the whole test program, and in the
// libraries that the program loads. It refuses no threads under a sanitizer,
// because a sanitizer has its own pthread_create. A test that needs the refusal
// therefore begins with
//
//   if (!ThreadRefusal::kWorks) GTEST_SKIP();
#ifndef HOLDFAST_TESTS_TESTING_THREAD_REFUSAL_H_
#define HOLDFAST_TESTS_TESTING_THREAD_REFUSAL_H_

#include "core/base/sanitizer.h"

namespace holdfast::testing {

// While an object of this class exists, the process can start `allowed` threads
// and no more. At most one object exists at a time.
class ThreadRefusal {
 public:
  static constexpr bool kWorks = !kSanitized;

  explicit ThreadRefusal(int allowed = 0);
  ~ThreadRefusal();
  ThreadRefusal(const ThreadRefusal&) = delete;
  ThreadRefusal& operator=(const ThreadRefusal&) = delete;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_TESTING_THREAD_REFUSAL_H_
