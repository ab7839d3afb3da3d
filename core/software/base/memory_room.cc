// SPDX-License-Identifier: Apache-2.0
#include "core/software/base/memory_room.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/software/base/mutex.h"

namespace holdfast::software {
namespace {

constexpr rlim_t kMostKept = rlim_t{1} << 30;

rlim_t Kept(rlim_t limit) { return std::min(limit / 4, kMostKept); }

rlim_t Limit(decltype(RLIMIT_DATA) resource) {
  struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(resource, &limit);
  return limit.rlim_cur;
}

}  // namespace

// /proc may be out of the process's sight, so the kernel is asked by an
// attempt. The pages are never touched. One thread at a time tries: the
// attempts of all threads of a launch together could be over the limit.
bool HasMemoryRoom(size_t bytes, RoomFor purpose) {
  const rlim_t limit = std::min(Limit(RLIMIT_DATA), Limit(RLIMIT_AS));
  if (limit == RLIM_INFINITY) return true;
  const rlim_t kept = Kept(limit) / (purpose == RoomFor::kKernel ? 2 : 1);
  const size_t wanted = bytes + kept;
  static Mutex mutex;
  MutexLock lock(&mutex);
  void* const room = mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, wanted);
  return true;
}

std::string MemoryLimitText() {
  const rlim_t data = Limit(RLIMIT_DATA);
  const rlim_t addresses = Limit(RLIMIT_AS);
  const rlim_t limit = std::min(data, addresses);
  return absl::StrCat(limit,
                      data <= addresses
                          ? " bytes of memory of the process's own "
                            "(RLIMIT_DATA)"
                          : " bytes of addresses (RLIMIT_AS)",
                      ", of which ", Kept(limit), " are kept for other work");
}

}  // namespace holdfast::software
