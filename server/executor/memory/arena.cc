// SPDX-License-Identifier: Apache-2.0
#include "server/executor/memory/arena.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/populate.h"
#include "core/base/status_macros.h"

namespace holdfast::executor {
namespace {

absl::Status Unfit(absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("the descriptor is no arena: ", why));
}

absl::Status CheckMemfd(int fd, uint64_t size) {
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0) return Unfit("it is not a memfd");
  if ((seals & F_SEAL_SHRINK) == 0) {
    return Unfit("it is not sealed against shrinking (F_SEAL_SHRINK)");
  }
  if ((seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0) {
    return Unfit("it is sealed against writing");
  }
  const int mode = fcntl(fd, F_GETFL);
  if (mode < 0 || (mode & O_ACCMODE) != O_RDWR || (mode & O_PATH) != 0) {
    return Unfit("it is not open for reading and writing (O_RDWR)");
  }
  // A hole in huge pages is filled only if the system has another one; if not,
  // the next access is a SIGBUS.
  struct statfs system {};
  if (fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC) {
    return Unfit("it is not of ordinary pages (MFD_HUGETLB is not accepted)");
  }
  struct stat info {};
  if (fstat(fd, &info) != 0) return absl::ErrnoToStatus(errno, "fstat");
  if (size > static_cast<uint64_t>(info.st_size)) {
    return absl::OutOfRangeError(absl::StrCat(
        "an arena of ", size, " bytes in a memfd of ", info.st_size, " bytes"));
  }
  return absl::OkStatus();
}

absl::Status CheckSize(uint64_t size) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (size > 0 && size % page == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("an arena of ", size,
                   " bytes: the size must be a multiple of the page size, ",
                   page, " bytes, and not 0"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Arena>> Arena::Create(
    std::shared_ptr<const cuda::Context> context, UniqueFd memfd, uint64_t size,
    Quota& quota, ArenaPlaces* places, uint64_t wish) {
  HOLDFAST_RETURN_IF_ERROR(CheckSize(size));
  HOLDFAST_RETURN_IF_ERROR(CheckMemfd(memfd.get(), size));
  HOLDFAST_ASSIGN_OR_RETURN(Charge charge, quota.Take(size));
  std::unique_ptr<Arena> arena(new Arena(std::move(charge)));
  HOLDFAST_ASSIGN_OR_RETURN(void* const data,
                            arena->Map(memfd.get(), size, places, wish));
  Populate(data, size);
  HOLDFAST_ASSIGN_OR_RETURN(
      arena->memory_,
      cuda::HostMemory::Register(std::move(context), data, size));
  return arena;
}

absl::StatusOr<void*> Arena::Map(int memfd, uint64_t size, ArenaPlaces* places,
                                 uint64_t wish) {
  if (places == nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(
        mapping_,
        FileMapping::Map(memfd, FileMapping::Access::kReadWrite, size));
    return mapping_.data();
  }
  HOLDFAST_ASSIGN_OR_RETURN(placed_, places->Map(memfd, size, wish));
  return placed_.data();
}

CUdeviceptr Arena::lasting_address() const {
  const auto place = reinterpret_cast<CUdeviceptr>(placed_.data());
  return place == device_address() ? place : 0;
}

}  // namespace holdfast::executor
