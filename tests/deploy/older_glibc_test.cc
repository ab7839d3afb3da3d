// SPDX-License-Identifier: Apache-2.0
//
// deploy/bazel/glibc, linked into this test.
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace holdfast {
namespace {

// Not inlined, so that unwinding passes through the frame.
[[gnu::noinline]] void Throw(int depth) {
  if (depth > 0) Throw(depth - 1);
  throw std::runtime_error(std::to_string(depth));
}

bool IsCaught() {
  try {
    Throw(20);
  } catch (const std::runtime_error& error) {
    return error.what() == std::string("0");
  }
  return false;
}

TEST(OlderGlibcTest, ExceptionsAreCaughtInEveryThread) {
  std::vector<std::thread> threads;
  std::vector<char> caught(8, 0);
  for (char& one : caught) threads.emplace_back([&one] { one = IsCaught(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(caught, std::vector<char>(8, 1));
}

TEST(OlderGlibcTest, RandomNumbersDiffer) {
  std::random_device device;
  std::set<unsigned> numbers;
  for (int i = 0; i < 64; ++i) numbers.insert(device());
  EXPECT_GT(numbers.size(), 60u);
}

}  // namespace
}  // namespace holdfast
