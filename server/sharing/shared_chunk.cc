// SPDX-License-Identifier: Apache-2.0
#include "server/sharing/shared_chunk.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

bool IsMemfd(int fd) { return fcntl(fd, F_GET_SEALS) >= 0; }

}  // namespace

SharedChunk::~SharedChunk() {
  options_.memory->NoteReturned(options_.device, options_.size);
}

absl::StatusOr<UniqueFd> SharedChunk::Open(v1::Rights rights) {
  if (rights == v1::RIGHTS_READ_WRITE) {
    absl::MutexLock lock(&mutex_);
    if (sealed_) {
      return absl::FailedPreconditionError(
          "the memory is a collection's, which nobody may write to");
    }
    writable_elsewhere_ = true;
  }
  const int own = options_.descriptor.get();
  // Opened again, a memfd has rights of its own.
  const bool reopen = rights != v1::RIGHTS_READ_WRITE && IsMemfd(own);
  UniqueFd fd(reopen ? open(absl::StrCat("/proc/self/fd/", own).c_str(),
                            O_RDONLY | O_CLOEXEC)
                     : fcntl(own, F_DUPFD_CLOEXEC, 0));
  if (!fd.valid()) {
    return absl::ErrnoToStatus(errno, "a descriptor of shared memory");
  }
  return fd;
}

absl::StatusOr<bool> SharedChunk::Seal() {
  absl::MutexLock lock(&mutex_);
  if (writable_elsewhere_) {
    return absl::FailedPreconditionError(
        "another session or process may write to the memory: it was exported "
        "with RIGHTS_READ_WRITE");
  }
  return !std::exchange(sealed_, true);
}

void SharedChunk::Unseal() {
  absl::MutexLock lock(&mutex_);
  sealed_ = false;
}

absl::StatusOr<std::shared_ptr<const Charge>> SharedChunk::ChargeOnce(
    Quota& quota) {
  absl::MutexLock lock(&mutex_);
  std::shared_ptr<const Charge> charge = charge_.lock();
  if (charge == nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(Charge taken, quota.Take(options_.size));
    charge = std::make_shared<const Charge>(std::move(taken));
    charge_ = charge;
  }
  return charge;
}

absl::Status CheckChunkDescriptor(int fd, uint64_t size) {
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) {
    return absl::InvalidArgumentError("the chunk came without a descriptor");
  }
  const mode_t type = status.st_mode & S_IFMT;
  // Files of a driver's are devices, or have no type at all.
  if (type == S_IFCHR || type == 0) return absl::OkStatus();
  const int seals = fcntl(fd, F_GET_SEALS);
  if (type != S_IFREG || seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return absl::InvalidArgumentError(
        "the chunk's descriptor is not of device memory");
  }
  if (static_cast<uint64_t>(status.st_size) < size) {
    return absl::InvalidArgumentError(
        absl::StrCat("the chunk has ", status.st_size, " bytes, not ", size));
  }
  return absl::OkStatus();
}

}  // namespace holdfast
