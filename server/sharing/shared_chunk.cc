// SPDX-License-Identifier: Apache-2.0
#include "server/sharing/shared_chunk.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

bool IsMemfd(int fd) { return fcntl(fd, F_GET_SEALS) >= 0; }

// Who has a descriptor for reading could open the file anew for writing,
// through /proc/self/fd, were that not refused: to all but its owner, the user
// of the executors, and root.
void KeepFromReopening(int fd) {
  if (IsMemfd(fd) && fchmod(fd, S_IRUSR) != 0) {
    LogWarning("readers of shared memory may open it for writing: ",
               std::strerror(errno));
  }
}

}  // namespace

SharedChunk::SharedChunk(Options options)
    : footprint_(std::make_shared<Footprint>()),
      memory_(options.memory),
      store_(options.store),
      place_{.charge = std::move(options.charge),
             .descriptor = std::move(options.descriptor),
             .saved = nullptr,
             .name = std::move(options.name),
             .kept = std::move(options.kept)} {
  footprint_->device = options.device;
  footprint_->size = options.size;
  footprint_->owner_ended = std::move(options.owner_ended);
  footprint_->resident = options.saved == nullptr;
  KeepFromReopening(place_.descriptor.get());
  if (options.saved != nullptr) place_ = InFile(std::move(options.saved));
}

SharedChunk::~SharedChunk() {
  if (resident()) memory_->NoteReturned(device(), size());
}

int SharedChunk::descriptor() const {
  absl::MutexLock lock(&mutex_);
  return place_.descriptor.get();
}

int SharedChunk::saved_descriptor() const {
  absl::MutexLock lock(&mutex_);
  return place_.saved == nullptr ? -1 : place_.saved->descriptor();
}

// Not under the lock: a store may be slow.
SharedChunk::Place SharedChunk::Keep(const char* kind, int fd) const {
  Place place;
  {
    absl::MutexLock lock(&mutex_);
    place.name = place_.name;
  }
  const KeptName before = std::exchange(place.name, {kind, place.name.numbers});
  if (store_ != nullptr) {
    place.kept = store_->KeepInPlaceOf(before, place.name, fd);
  }
  return place;
}

SharedChunk::Place SharedChunk::InFile(
    std::unique_ptr<const SuspendedMemory> saved) const {
  Place place = Keep("saved", saved->descriptor());
  place.saved = std::move(saved);
  return place;
}

// Not "chunk" again: that would be memory of the session that made it, which
// pays for it no more and may have used the number for another chunk since.
SharedChunk::Place SharedChunk::OnDevice(UniqueFd descriptor,
                                         MemoryGrants::Detached charge) const {
  KeepFromReopening(descriptor.get());
  Place place = Keep("owned", descriptor.get());
  place.descriptor = std::move(descriptor);
  place.charge = std::move(charge);
  return place;
}

SharedChunk::Place SharedChunk::Move(Place place) {
  absl::MutexLock lock(&mutex_);
  footprint_->detached = true;
  footprint_->resident = place.saved == nullptr;
  if (place.saved == nullptr) {
    memory_->NoteTaken(device(), size());
  } else {
    memory_->NoteReturned(device(), size());
  }
  return std::exchange(place_, std::move(place));
}

absl::StatusOr<UniqueFd> SharedChunk::Open(v1::Rights rights) {
  absl::MutexLock lock(&mutex_);
  if (place_.saved != nullptr) {
    return absl::FailedPreconditionError(
        "the memory is suspended: it is not on its device");
  }
  if (rights == v1::RIGHTS_READ_WRITE) {
    if (sealed_) {
      return absl::FailedPreconditionError(
          "the memory is a collection's, which nobody may write to");
    }
    writable_elsewhere_ = true;
  }
  const int own = place_.descriptor.get();
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

void SharedChunk::ChargeMaker(Quota& quota) {
  absl::MutexLock lock(&mutex_);
  place_.charge.of_tenant = Charge();
  if (charge_.lock() != nullptr || makers_charge_.amount() > 0) return;
  makers_charge_ = quota.TakeBeyondLimit(size());
}

absl::StatusOr<std::shared_ptr<const Charge>> SharedChunk::ChargeOnce(
    Quota& quota) {
  absl::MutexLock lock(&mutex_);
  std::shared_ptr<const Charge> charge = charge_.lock();
  if (charge == nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(Charge taken, quota.Take(size()));
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
