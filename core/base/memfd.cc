// SPDX-License-Identifier: Apache-2.0
#include "core/base/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr int kSeals = F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_WRITE;

absl::Status ErrnoStatus(absl::string_view what) {
  return absl::ErrnoToStatus(errno, what);
}

absl::Status WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus("write to a memfd");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<UniqueFd> CreateMemfd(absl::string_view name, size_t size) {
  UniqueFd fd(
      memfd_create(std::string(name).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return ErrnoStatus("memfd_create");
  if (ftruncate(fd.get(), static_cast<off_t>(size)) != 0) {
    return ErrnoStatus(absl::StrCat("ftruncate of a memfd to ", size));
  }
  return fd;
}

absl::StatusOr<UniqueFd> CreateSealedMemfd(absl::string_view name,
                                           absl::string_view bytes) {
  HOLDFAST_ASSIGN_OR_RETURN(UniqueFd fd, CreateMemfd(name, 0));
  HOLDFAST_RETURN_IF_ERROR(WriteAll(fd.get(), bytes));
  HOLDFAST_RETURN_IF_ERROR(SealMemfd(fd.get()));
  return fd;
}

absl::Status SealMemfd(int fd) {
  if (fcntl(fd, F_ADD_SEALS, kSeals) != 0) {
    return ErrnoStatus("seal a memfd");
  }
  return absl::OkStatus();
}

bool IsSealed(int fd) {
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & kSeals) == kSeals;
}

FileMapping::FileMapping(FileMapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

FileMapping& FileMapping::operator=(FileMapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

FileMapping::~FileMapping() {
  if (data_ != nullptr) munmap(data_, size_);
}

absl::StatusOr<FileMapping> FileMapping::Map(int fd, Access access) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return ErrnoStatus("fstat of shared memory");
  const size_t size = static_cast<size_t>(info.st_size);
  if (size == 0) return FileMapping();
  const int protection =
      access == Access::kReadWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  void* data = mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    return ErrnoStatus(absl::StrCat("map ", size, " bytes of shared memory"));
  }
  return FileMapping(data, size);
}

}  // namespace holdfast
