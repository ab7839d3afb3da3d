// SPDX-License-Identifier: Apache-2.0
//
// Limits the memory of the test's process, as an executor's sandbox does. A
// process under a sanitizer has more memory than any limit: such a test begins
// with
//
//   if (kSanitized) GTEST_SKIP();
#ifndef HOLDFAST_TESTS_TESTING_MEMORY_LIMIT_H_
#define HOLDFAST_TESTS_TESTING_MEMORY_LIMIT_H_

#include <sys/resource.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace holdfast::testing {

// While an object of this class exists, the process can have `bytes` more of
// private writable memory than at the object's construction (RLIMIT_DATA).
class MemoryLimit {
 public:
  explicit MemoryLimit(uint64_t bytes) {
    EXPECT_EQ(getrlimit(RLIMIT_DATA, &before_), 0);
    const rlimit limit = {Present() + bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_DATA, &limit), 0);
  }
  ~MemoryLimit() { setrlimit(RLIMIT_DATA, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  static uint64_t Present() {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word && word != "VmData:") {
    }
    uint64_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes << 10;
  }

  rlimit before_ = {};
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_TESTING_MEMORY_LIMIT_H_
