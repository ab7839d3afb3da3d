// SPDX-License-Identifier: Apache-2.0
//
// The functions of <sys/stat.h> that glibc 2.33 has made of macros, as system
// calls. On x86-64 a kernel's struct stat is glibc's, and stat64 is stat.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "deploy/bazel/glibc/hidden.h"

namespace {

// `result`: a struct stat or stat64.
int StatAt(int directory, const char* path, void* result, int flags) {
  return static_cast<int>(
      syscall(SYS_newfstatat, directory, path, result, flags));
}

int StatDescriptor(int descriptor, void* result) {
  return static_cast<int>(syscall(SYS_fstat, descriptor, result));
}

}  // namespace

extern "C" {

HOLDFAST_OLDER int stat(const char* path, struct stat* result) noexcept {
  return StatAt(AT_FDCWD, path, result, 0);
}

HOLDFAST_OLDER int stat64(const char* path, struct stat64* result) noexcept {
  return StatAt(AT_FDCWD, path, result, 0);
}

HOLDFAST_OLDER int lstat(const char* path, struct stat* result) noexcept {
  return StatAt(AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW);
}

HOLDFAST_OLDER int lstat64(const char* path, struct stat64* result) noexcept {
  return StatAt(AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW);
}

HOLDFAST_OLDER int fstat(int descriptor, struct stat* result) noexcept {
  return StatDescriptor(descriptor, result);
}

HOLDFAST_OLDER int fstat64(int descriptor, struct stat64* result) noexcept {
  return StatDescriptor(descriptor, result);
}

HOLDFAST_OLDER int fstatat(int directory, const char* path, struct stat* result,
                           int flags) noexcept {
  return StatAt(directory, path, result, flags);
}

HOLDFAST_OLDER int mknod(const char* path, mode_t mode, dev_t device) noexcept {
  return static_cast<int>(syscall(SYS_mknod, path, mode, device));
}

}  // extern "C"
