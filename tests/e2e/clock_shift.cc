// SPDX-License-Identifier: Apache-2.0
//
// A library for LD_PRELOAD that sets a program's clock: CLOCK_REALTIME is off
// by the seconds, an int64_t, that the file $HOLDFAST_CLOCK_SHIFT begins with.
#include <fcntl.h>
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

}  // namespace

extern "C" {

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
