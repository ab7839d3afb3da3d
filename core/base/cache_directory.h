// SPDX-License-Identifier: Apache-2.0
//
// A directory in which a program caches what it made: a file an entry. The
// files may be code that will run, so no other user may be able to write there.
// A file is whole, or is not there, whenever its writer is killed. The time of
// a file is when it was last used. Several processes may share a directory.
#ifndef HOLDFAST_CORE_BASE_CACHE_DIRECTORY_H_
#define HOLDFAST_CORE_BASE_CACHE_DIRECTORY_H_

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace holdfast {

struct CacheFile {
  std::string name;
  uint64_t bytes = 0;
  absl::Time used;
};

// Returns true if no other user can have written this file, or can add one to
// this directory.
bool IsTrusted(const struct stat& info);

// PERMISSION_DENIED: it is not a directory that can be trusted.
absl::Status CheckDirectory(const std::string& path);

// Makes it, and those above it, with mode 0700; then as CheckDirectory.
absl::Status MakeDirectories(const std::string& path);

// Makes or replaces a file, mode 0600, in one step: `write` writes to one
// beside it, which is locked meanwhile and gets the name in the end.
absl::Status ReplaceFile(const std::string& path,
                         const std::function<absl::Status(int fd)>& write);

// Returns the final name of a file that ReplaceFile is writing, or was writing
// when its process was killed. Empty: it is no such file.
absl::string_view FinalName(absl::string_view name);

// Returns the regular files of a directory, also those that are being written;
// none if it cannot be read.
std::vector<CacheFile> ListCache(const std::string& directory);

// Returns true if `file` is being written, but its writer is gone.
bool IsStaleTempFile(const std::string& directory, const CacheFile& file);

// Notes that a file was used.
void SetUsedNow(int fd);

struct CacheSum {
  uint64_t files = 0;
  uint64_t bytes = 0;
};

// Removes those of `files` that were not used for the longest time until the
// others have `goal` bytes at most. Returns the number of files and of bytes
// that are gone. Another process may remove some at the same time.
CacheSum RemoveLeastRecentlyUsed(const std::string& directory,
                                 std::vector<CacheFile> files, uint64_t goal);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_CACHE_DIRECTORY_H_
