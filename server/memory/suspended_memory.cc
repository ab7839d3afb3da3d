// SPDX-License-Identifier: Apache-2.0
#include "server/memory/suspended_memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// Takes the room on the disk at once, where the file system can.
absl::Status Extend(int fd, uint64_t bytes) {
  const auto size = static_cast<off_t>(bytes);
  if (fallocate(fd, 0, 0, size) == 0) return absl::OkStatus();
  if (errno == EOPNOTSUPP && ftruncate(fd, size) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat(bytes, " bytes"));
}

// Takes the file's name away, so that a daemon that is killed leaves nothing on
// the disk, and gives the file its size.
absl::StatusOr<UniqueFd> Prepare(UniqueFd fd, const std::string& path,
                                 uint64_t bytes) {
  if (!fd.valid()) return absl::ErrnoToStatus(errno, path);
  unlink(path.c_str());
  const absl::Status extended = Extend(fd.get(), bytes);
  if (extended.ok()) return fd;
  return absl::Status(extended.code(),
                      absl::StrCat(path, ": ", extended.message()));
}

// A session may have no device memory; a file has at least one byte.
uint64_t SizeOfFile(uint64_t bytes) { return std::max<uint64_t>(bytes, 1); }

absl::Status CheckLength(int fd, uint64_t bytes) {
  struct stat info = {};
  if (fstat(fd, &info) == 0 && static_cast<uint64_t>(info.st_size) >= bytes) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat("the file has not the ", bytes, " bytes of its memory"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SuspendedMemory>>
SuspendedMemory::CreateInMemory(uint64_t bytes, HostCharge charge) {
  HOLDFAST_ASSIGN_OR_RETURN(
      UniqueFd fd, CreateFixedMemfd("holdfast-suspended", SizeOfFile(bytes)));
  return std::unique_ptr<SuspendedMemory>(new SuspendedMemory(
      std::move(fd), bytes, /*path=*/"", std::move(charge)));
}

absl::StatusOr<std::unique_ptr<SuspendedMemory>> SuspendedMemory::CreateFile(
    const std::string& path, uint64_t bytes) {
  const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  HOLDFAST_ASSIGN_OR_RETURN(
      UniqueFd fd, Prepare(UniqueFd(open(path.c_str(), flags, 0600)), path,
                           SizeOfFile(bytes)));
  return std::unique_ptr<SuspendedMemory>(
      new SuspendedMemory(std::move(fd), bytes, path, {}));
}

absl::StatusOr<std::unique_ptr<SuspendedMemory>> SuspendedMemory::Adopt(
    UniqueFd fd, const std::string& path, uint64_t bytes, HostCharge charge) {
  HOLDFAST_RETURN_IF_ERROR(CheckLength(fd.get(), bytes));
  return std::unique_ptr<SuspendedMemory>(
      new SuspendedMemory(std::move(fd), bytes, path, std::move(charge)));
}

absl::StatusOr<std::unique_ptr<SuspendedMemory>> SuspendedMemory::CreateUnnamed(
    const std::string& directory, uint64_t bytes) {
  std::string path = absl::StrCat(directory, "/.suspended-XXXXXX");
  UniqueFd made(mkostemp(path.data(), O_CLOEXEC));
  HOLDFAST_ASSIGN_OR_RETURN(UniqueFd fd,
                            Prepare(std::move(made), path, SizeOfFile(bytes)));
  return std::unique_ptr<SuspendedMemory>(
      new SuspendedMemory(std::move(fd), bytes, /*path=*/"", {}));
}

// Only memory has seals.
bool SuspendedMemory::IsHostMemory(int fd) {
  return fcntl(fd, F_GET_SEALS) >= 0;
}

SuspendedMemory::~SuspendedMemory() {
  if (path_.empty()) return;
  // Only a file of an earlier version's daemon has its name still. Another file
  // may have been put in its place.
  struct stat own = {}, there = {};
  if (fstat(fd_.get(), &own) == 0 && lstat(path_.c_str(), &there) == 0 &&
      own.st_dev == there.st_dev && own.st_ino == there.st_ino) {
    unlink(path_.c_str());
  }
}

}  // namespace holdfast
