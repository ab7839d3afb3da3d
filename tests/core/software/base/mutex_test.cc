// SPDX-License-Identifier: Apache-2.0
#include "core/software/base/mutex.h"

#include <atomic>
#include <thread>

#include "gtest/gtest.h"

namespace holdfast::software {
namespace {

constexpr int kRounds = 10'000;

TEST(MutexTest, AWriterExcludesOtherWriters) {
  Mutex mutex;
  int count = 0;
  const auto add = [&] {
    for (int i = 0; i < kRounds; ++i) {
      MutexLock lock(&mutex);
      ++count;
    }
  };
  std::thread other(add);
  add();
  other.join();
  EXPECT_EQ(count, 2 * kRounds);
}

TEST(SharedMutexTest, AReaderSeesNoHalfOfAWrite) {
  SharedMutex mutex;
  int first = 0, second = 0;
  std::thread writer([&] {
    for (int i = 0; i < kRounds; ++i) {
      WriterMutexLock lock(&mutex);
      ++first;
      ++second;
    }
  });
  int torn = 0;
  for (int i = 0; i < kRounds; ++i) {
    ReaderMutexLock lock(&mutex);
    torn += first != second;
  }
  writer.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(first, kRounds);
}

// With an exclusive lock in a reader's place, neither thread would come to the
// point where both are inside.
TEST(SharedMutexTest, ReadersDoNotExcludeEachOther) {
  SharedMutex mutex;
  std::atomic<int> inside{0};
  const auto read = [&] {
    ReaderMutexLock lock(&mutex);
    ++inside;
    while (inside < 2) std::this_thread::yield();
  };
  std::thread other(read);
  read();
  other.join();
  EXPECT_EQ(inside, 2);
}

// A wait that keeps the mutex locked, or a lost wakeup, would never end.
TEST(ConditionVariableTest, AWaitUnlocksTheMutexAndLocksItAgain) {
  Mutex mutex;
  ConditionVariable changed;
  int turn = 0;
  std::thread other([&] {
    MutexLock lock(&mutex);
    while (turn != 1) changed.Wait(&mutex);
    turn = 2;
    changed.NotifyAll();
  });
  {
    MutexLock lock(&mutex);
    turn = 1;
    changed.NotifyOne();
    while (turn != 2) changed.Wait(&mutex);
  }
  other.join();
}

TEST(ConditionVariableTest, AWaitThatNobodyEndsSaysThatItsTimeHasPassed) {
  Mutex mutex;
  ConditionVariable changed;
  MutexLock lock(&mutex);
  const auto end =
      ConditionVariable::Clock::now() + std::chrono::milliseconds(5);
  while (changed.WaitUntil(&mutex, end)) {
  }
  EXPECT_GE(ConditionVariable::Clock::now(), end);
}

}  // namespace
}  // namespace holdfast::software
