// SPDX-License-Identifier: Apache-2.0
#include "core/base/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr int kSeals = F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_WRITE;

constexpr int kFixedSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr int kNoWritingSeals = F_SEAL_WRITE | F_SEAL_FUTURE_WRITE;

absl::Status ErrnoStatus(absl::string_view what) {
  return absl::ErrnoToStatus(errno, what);
}

constexpr size_t kHugePageBytes = size_t{2} << 20;

// The first page boundary not before `address`.
char* PageAfter(char* address) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return address + (-reinterpret_cast<uintptr_t>(address) % page);
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

// Addresses for a mapping, from a boundary of huge pages on. Whatever is
// reserved before and behind to find one is given back.
absl::StatusOr<void*> ReserveAddresses(size_t size) {
  const size_t alignment = size < kHugePageBytes ? 1 : kHugePageBytes;
  const size_t reserved = size + alignment - 1;
  if (reserved < size) {
    return absl::InvalidArgumentError(
        absl::StrCat("map ", size, " bytes of shared memory"));
  }
  void* const start = mmap(nullptr, reserved, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) {
    return ErrnoStatus(absl::StrCat("addresses for ", size, " bytes"));
  }
  char* const first = static_cast<char*>(start);
  const size_t before = -reinterpret_cast<uintptr_t>(first) % alignment;
  char* const place = first + before;
  char* const behind = PageAfter(place + size);
  if (before > 0) munmap(first, before);
  if (behind < first + reserved) munmap(behind, first + reserved - behind);
  return place;
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

absl::StatusOr<UniqueFd> CreateFixedMemfd(absl::string_view name, size_t size) {
  HOLDFAST_ASSIGN_OR_RETURN(UniqueFd fd, CreateMemfd(name, size));
  if (fcntl(fd.get(), F_ADD_SEALS, kFixedSeals) != 0) {
    return ErrnoStatus("seal a memfd");
  }
  return fd;
}

bool IsFixedMemfd(int fd, size_t size) {
  const int seals = fcntl(fd, F_GET_SEALS);
  struct stat info {};
  return seals >= 0 &&
         (seals & (kFixedSeals | kNoWritingSeals)) == kFixedSeals &&
         fstat(fd, &info) == 0 && info.st_size == static_cast<off_t>(size);
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
  return Map(fd, access, static_cast<size_t>(info.st_size));
}

absl::StatusOr<FileMapping> FileMapping::Map(int fd, Access access,
                                             size_t size) {
  if (size == 0) return FileMapping();
  HOLDFAST_ASSIGN_OR_RETURN(void* const place, ReserveAddresses(size));
  const int protection =
      access == Access::kReadWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  if (mmap(place, size, protection, MAP_SHARED | MAP_FIXED, fd, 0) ==
      MAP_FAILED) {
    const absl::Status status =
        ErrnoStatus(absl::StrCat("map ", size, " bytes of shared memory"));
    munmap(place, size);
    return status;
  }
  return FileMapping(place, size);
}

absl::StatusOr<FileMapping> FileMapping::MapAt(int fd, size_t size,
                                               void* address) {
  void* const got = mmap(address, size, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
  if (got == address) return FileMapping(got, size);
  const int error = got == MAP_FAILED ? errno : EEXIST;
  // A kernel that does not know the flag takes the address for a hint.
  if (got != MAP_FAILED) munmap(got, size);
  return absl::ErrnoToStatus(
      error, absl::StrCat("map ", size, " bytes of shared memory at 0x",
                          absl::Hex(reinterpret_cast<uintptr_t>(address))));
}

}  // namespace holdfast
