// SPDX-License-Identifier: Apache-2.0
//
// The standard library's mutexes, with the annotations that clang's
// -Wthread-safety checks. The software driver uses them because it is linked
// without Abseil's mutexes (core/software/README.md). Names and meanings are
// those of absl::Mutex.
#ifndef HOLDFAST_CORE_SOFTWARE_BASE_MUTEX_H_
#define HOLDFAST_CORE_SOFTWARE_BASE_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "absl/base/thread_annotations.h"

namespace holdfast::software {

// A mutex that one thread can hold. Not recursive.
class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // Blocks until no other thread holds the mutex, and then holds it.
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class ConditionVariable;
  std::mutex mutex_;
};

// A mutex that either one thread holds for writing, or any number of threads
// hold for reading. Not recursive.
class ABSL_LOCKABLE SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  // Holds the mutex for writing. Blocks until no other thread holds it.
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  // Holds the mutex for reading. Blocks until no other thread holds it for
  // writing.
  void ReaderLock() ABSL_SHARED_LOCK_FUNCTION() { mutex_.lock_shared(); }
  void ReaderUnlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

// Holds a Mutex while the object lives. Borrows the mutex. Not thread-safe.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(*mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Holds a SharedMutex for reading.
class ABSL_SCOPED_LOCKABLE ReaderMutexLock {
 public:
  explicit ReaderMutexLock(SharedMutex* mutex) ABSL_SHARED_LOCK_FUNCTION(mutex)
      : mutex_(*mutex) {
    mutex_.ReaderLock();
  }
  ~ReaderMutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.ReaderUnlock(); }
  ReaderMutexLock(const ReaderMutexLock&) = delete;
  ReaderMutexLock& operator=(const ReaderMutexLock&) = delete;

 private:
  SharedMutex& mutex_;
};

// Holds a SharedMutex for writing.
class ABSL_SCOPED_LOCKABLE WriterMutexLock {
 public:
  explicit WriterMutexLock(SharedMutex* mutex)
      ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(*mutex) {
    mutex_.Lock();
  }
  ~WriterMutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  WriterMutexLock(const WriterMutexLock&) = delete;
  WriterMutexLock& operator=(const WriterMutexLock&) = delete;

 private:
  SharedMutex& mutex_;
};

// Lets threads sleep until another thread notifies them. Each wait unlocks the
// mutex while the thread sleeps, and locks it again before it returns. A wait
// may end without a notification, so call it in a loop that tests the
// condition. There is no overload with a predicate, because clang's analysis
// could not know which mutex the predicate needs.
class ConditionVariable {
 public:
  using Clock = std::chrono::steady_clock;

  // Wake one or all sleeping threads. May be called with or without the mutex.
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

  // Sleeps until a notification. REQUIRES: the calling thread holds the mutex.
  void Wait(Mutex* mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    changed_.wait(lock);
    lock.release();
  }

  // Sleeps until a notification, or until the time `end`; returns false at
  // `end`.
  bool WaitUntil(Mutex* mutex, Clock::time_point end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    const std::cv_status status = changed_.wait_until(lock, end);
    lock.release();
    return status == std::cv_status::no_timeout;
  }

  // Sleeps until a notification, for at most `limit`; returns false after
  // `limit`.
  bool WaitFor(Mutex* mutex, Clock::duration limit)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return WaitUntil(mutex, Clock::now() + limit);
  }

 private:
  std::condition_variable changed_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_BASE_MUTEX_H_
