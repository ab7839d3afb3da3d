// SPDX-License-Identifier: Apache-2.0
#include "server/executor/memory/arena_places.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "core/base/arena_range.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"

namespace holdfast::executor {
namespace {

constexpr int kReserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

// Left free behind each arena, so that a kernel that runs over its end faults.
constexpr uint64_t kGapBytes = uint64_t{64} << 10;

bool ReserveRange() {
  auto* const base = reinterpret_cast<void*>(kArenaRangeBase);
  void* const got = mmap(base, kArenaRangeBytes, PROT_NONE,
                         kReserve | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == base) return true;
  // A kernel that does not know the flag takes the address for a hint.
  if (got != MAP_FAILED) munmap(got, kArenaRangeBytes);
  return false;
}

bool IsPage(uint64_t address) {
  return address % static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) == 0;
}

}  // namespace

std::shared_ptr<ArenaPlaces> ArenaPlaces::Make(bool reserved) {
  if (!reserved && !ReserveRange()) return nullptr;
  return std::shared_ptr<ArenaPlaces>(new ArenaPlaces);
}

ArenaPlaces::ArenaPlaces() {
  absl::MutexLock lock(&mutex_);
  free_.Add(kArenaRangeBase, kArenaRangeBytes);
}

absl::StatusOr<uint64_t> ArenaPlaces::Take(uint64_t size, uint64_t wish) {
  if (size <= kArenaRangeBytes - kGapBytes) {
    const uint64_t taken = size + kGapBytes;
    absl::MutexLock lock(&mutex_);
    // Only what lies in the range is ever free.
    if (IsPage(wish) && free_.TakeAt(wish, taken)) return wish;
    if (const auto place = free_.Take(taken, kArenaAlignment)) return *place;
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("no ", size, " bytes are free in the ", kArenaRangeBytes,
                   " addresses for arenas"));
}

void ArenaPlaces::Release(uint64_t address, uint64_t size) {
  absl::MutexLock lock(&mutex_);
  free_.Add(address, size + kGapBytes);
}

absl::StatusOr<PlacedMapping> ArenaPlaces::Map(int fd, uint64_t size,
                                               uint64_t wish) {
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t address, Take(size, wish));
  if (mmap(reinterpret_cast<void*>(address), size, PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
    const absl::Status status = absl::ErrnoToStatus(
        errno, absl::StrCat("map ", size, " bytes of an arena"));
    Release(address, size);
    return status;
  }
  return PlacedMapping(shared_from_this(), address, size);
}

PlacedMapping::~PlacedMapping() {
  if (places_ == nullptr) return;
  if (mmap(data(), size_, PROT_NONE, kReserve | MAP_FIXED, -1, 0) ==
      MAP_FAILED) {
    LogError("cannot unmap an arena of ", size_,
             " bytes: its place stays taken");
    return;
  }
  places_->Release(address_, size_);
}

}  // namespace holdfast::executor
