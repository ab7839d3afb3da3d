// SPDX-License-Identifier: Apache-2.0
#include "core/base/doorbell.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr uint64_t kBytes = 4096;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr int kNoSeals = F_SEAL_WRITE | F_SEAL_FUTURE_WRITE;

bool HasSeals(int fd) {
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & (kSeals | kNoSeals)) == kSeals;
}

}  // namespace

absl::StatusOr<UniqueFd> Doorbell::CreateMemory() {
  HOLDFAST_ASSIGN_OR_RETURN(UniqueFd fd,
                            CreateMemfd("holdfast-doorbell", kBytes));
  if (fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) {
    return absl::ErrnoToStatus(errno, "seal a doorbell");
  }
  return fd;
}

absl::StatusOr<Doorbell> Doorbell::Map(int memfd, End end) {
  struct stat info {};
  if (!HasSeals(memfd) || fstat(memfd, &info) != 0 || info.st_size != kBytes) {
    return absl::FailedPreconditionError(
        "the descriptor is no doorbell: not a memfd of 4096 bytes that is "
        "sealed against shrinking, growing and more seals, but not writing");
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      FileMapping mapping,
      FileMapping::Map(memfd, FileMapping::Access::kReadWrite, kBytes));
  return Doorbell(std::move(mapping), end);
}

Doorbell::Doorbell(FileMapping mapping, End end)
    : mapping_(std::move(mapping)) {
  auto* const page = static_cast<Page*>(mapping_.data());
  mine_ = end == End::kClient ? &page->client : &page->executor;
  others_ = end == End::kClient ? &page->executor : &page->client;
}

}  // namespace holdfast
