// SPDX-License-Identifier: Apache-2.0
//
// Tells ThreadSanitizer of absl::Mutex, CondVar and Notification. The
// distribution's Abseil is not instrumented: what it orders would look like
// data races. The linker sends every call here (--wrap), those of gRPC, too;
// each wrapper makes the call and says what it orders.
//
// Conditions are evaluated inside these calls, by whichever thread holds the
// lock; ThreadSanitizer sees it given back by then, so that their reads are
// not looked at.
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
}

namespace {

using absl::Condition;
using absl::CondVar;
using absl::Duration;
using absl::Mutex;
using absl::Notification;
using absl::Time;

// During a call that may evaluate conditions.
class IgnoreReads {
 public:
  IgnoreReads() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~IgnoreReads() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
};

// A call that takes the lock; that gives it back; that does so for a while.
template <typename Call>
auto Taking(void* mutex, Call call) {
  struct Acquire {
    void* mutex;
    ~Acquire() { __tsan_acquire(mutex); }
  } const acquire{mutex};
  const IgnoreReads ignore;
  return call();
}
template <typename Call>
auto Giving(void* mutex, Call call) {
  __tsan_release(mutex);
  const IgnoreReads ignore;
  return call();
}
template <typename Call>
auto Lending(void* mutex, Call call) {
  __tsan_release(mutex);
  return Taking(mutex, call);
}

}  // namespace

// The mangled names, with what follows "Mutex" or "CondVar" in them.
#define MUTEX(name) _ZN4absl7debian35Mutex##name
#define CONDVAR(name) _ZN4absl7debian37CondVar##name
#define NOTIFICATION(constness, name) \
  _Z##constness##4absl7debian312Notification##name
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#define WRAP(how, symbol, result, type, object, parameters, arguments)   \
  extern "C" result JOIN(__real_, symbol) parameters;                    \
  extern "C" result JOIN(__wrap_, symbol) parameters {                   \
    return how(object, [&] { return JOIN(__real_, symbol) arguments; }); \
  }

#define MUTEX_0(how, name, result) \
  WRAP(how, MUTEX(name), result, Mutex, mutex, (Mutex * mutex), (mutex))
#define MUTEX_1(how, name, result)             \
  WRAP(how, MUTEX(name), result, Mutex, mutex, \
       (Mutex * mutex, const Condition& condition), (mutex, condition))
#define MUTEX_2(how, name, result, type)                        \
  WRAP(how, MUTEX(name), result, Mutex, mutex,                  \
       (Mutex * mutex, const Condition& condition, type limit), \
       (mutex, condition, limit))

MUTEX_0(Taking, 4LockEv, void)
MUTEX_0(Taking, 7TryLockEv, bool)
MUTEX_0(Giving, 6UnlockEv, void)
MUTEX_0(Taking, 10ReaderLockEv, void)
MUTEX_0(Taking, 13ReaderTryLockEv, bool)
MUTEX_0(Giving, 12ReaderUnlockEv, void)
// Its first member is the mutex, which it unlocks behind the linker's back.
WRAP(Giving, _ZN4absl7debian319ReleasableMutexLock7ReleaseEv, void, Mutex,
     *reinterpret_cast<Mutex**>(lock), (absl::ReleasableMutexLock * lock),
     (lock))

MUTEX_1(Taking, 8LockWhenERKNS0_9ConditionE, void)
MUTEX_2(Taking, 19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE, bool,
        Duration)
MUTEX_2(Taking, 20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE, bool, Time)
MUTEX_1(Lending, 5AwaitERKNS0_9ConditionE, void)
MUTEX_2(Lending, 16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE, bool,
        Duration)
MUTEX_2(Lending, 17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE, bool, Time)

WRAP(Lending, CONDVAR(4WaitEPNS0_5MutexE), void, CondVar, mutex,
     (CondVar * condvar, Mutex* mutex), (condvar, mutex))
WRAP(Lending, CONDVAR(15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE), bool,
     CondVar, mutex, (CondVar * condvar, Mutex* mutex, Duration limit),
     (condvar, mutex, limit))
WRAP(Lending, CONDVAR(16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE), bool, CondVar,
     mutex, (CondVar * condvar, Mutex* mutex, Time limit),
     (condvar, mutex, limit))

// HasBeenNotified is inline: it acquires the flag that follows the mutex.
extern "C" void JOIN(__real_, NOTIFICATION(N, 6NotifyEv))(Notification*);
extern "C" void JOIN(__wrap_, NOTIFICATION(N, 6NotifyEv))(Notification* done) {
  static_assert(sizeof *done == 2 * sizeof(Mutex));
  __tsan_release(reinterpret_cast<Mutex*>(done) + 1);
  Giving(done, [&] { JOIN(__real_, NOTIFICATION(N, 6NotifyEv))(done); });
}
WRAP(Taking, NOTIFICATION(NK, 19WaitForNotificationEv), void, Notification,
     const_cast<Notification*>(notification),
     (const Notification* notification), (notification))
WRAP(Taking, NOTIFICATION(NK, 30WaitForNotificationWithTimeoutENS0_8DurationE),
     bool, Notification, const_cast<Notification*>(notification),
     (const Notification* notification, Duration limit), (notification, limit))
WRAP(Taking, NOTIFICATION(NK, 31WaitForNotificationWithDeadlineENS0_4TimeE),
     bool, Notification, const_cast<Notification*>(notification),
     (const Notification* notification, Time limit), (notification, limit))
