// SPDX-License-Identifier: Apache-2.0
//
// A library for LD_PRELOAD that sets a program's clock: CLOCK_REALTIME is off
// by the seconds, an int64_t, that the file $HOLDFAST_CLOCK_SHIFT begins with.
//
// The kernel's clock stays as it is. So that a wait until a time ends when the
// program's clock says that time, the times of futexes and condition variables
// are brought back to the kernel's clock.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

const std::atomic<int64_t>* MapShift() {
  const char* const path = getenv("HOLDFAST_CLOCK_SHIFT");
  const int fd = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* const page = mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, fd,
                          /*offset=*/0);
  close(fd);
  return page == MAP_FAILED ? nullptr
                            : static_cast<const std::atomic<int64_t>*>(page);
}

int64_t Shift() {
  static const std::atomic<int64_t>* const shift = MapShift();
  return shift == nullptr ? 0 : shift->load();
}

// Times since the machine was started are of CLOCK_MONOTONIC, and stay.
timespec KernelTime(const timespec& time) {
  constexpr time_t kYear2001 = 1'000'000'000;
  if (time.tv_sec < kYear2001) return time;
  return {time.tv_sec - Shift(), time.tv_nsec};
}

// Abseil waits by futexes, until times of CLOCK_REALTIME.
bool WaitsForRealTime(long number, const long (&arguments)[6]) {
  const long operation = arguments[1];
  return number == SYS_futex && (operation & FUTEX_CLOCK_REALTIME) != 0 &&
         (operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && arguments[3] != 0;
}

}  // namespace

extern "C" {

long syscall(long number, ...) {
  using SystemCall = long (*)(long, ...);
  static const auto real =
      reinterpret_cast<SystemCall>(dlsym(RTLD_NEXT, "syscall"));
  long arguments[6];
  va_list list;
  va_start(list, number);
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  timespec until = {};
  if (WaitsForRealTime(number, arguments)) {
    until = KernelTime(*reinterpret_cast<const timespec*>(arguments[3]));
    arguments[3] = reinterpret_cast<long>(&until);
  }
  return real(number, arguments[0], arguments[1], arguments[2], arguments[3],
              arguments[4], arguments[5]);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
  using Wait = int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
  static const auto real =
      reinterpret_cast<Wait>(dlsym(RTLD_NEXT, "pthread_cond_timedwait"));
  const timespec time = KernelTime(*until);
  return real(condition, mutex, &time);
}

int clock_gettime(clockid_t clock, timespec* time) {
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += Shift();
  return static_cast<int>(result);
}

int gettimeofday(timeval* time, void*) {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

}  // extern "C"
