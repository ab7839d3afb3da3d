// SPDX-License-Identifier: Apache-2.0
//
// A directory in which a program caches its results, with one file for each
// entry. The files may contain code that will run, so no other user may be able
// to write to the directory. If a writer is killed, its file is either complete
// or absent. The modification time of a file is the time of its last use.
// Several processes may share a directory.
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

// Returns OK if `path` is a directory that IsTrusted accepts, otherwise
// PERMISSION_DENIED. Also fails as stat() does, for instance with NOT_FOUND.
absl::Status CheckDirectory(const std::string& path);

// Makes the directory and its missing parents, with mode 0700. Then checks it
// as CheckDirectory does.
absl::Status MakeDirectories(const std::string& path);

// Makes or replaces the file `path`, with mode 0600, in one step. Calls `write`
// to fill a locked temporary file in the same directory, and then renames that
// file to `path`. On failure, removes the temporary file and returns the error.
absl::Status ReplaceFile(const std::string& path,
                         const std::function<absl::Status(int fd)>& write);

// Returns the final name of the temporary file `name` of ReplaceFile, which may
// remain from a killed process; "" if `name` is not the name of such a file.
absl::string_view FinalName(absl::string_view name);

// Returns the regular files of a directory, including the temporary files of
// ReplaceFile. Returns no files if the directory cannot be read.
std::vector<CacheFile> ListCache(const std::string& directory);

// Returns true if `file` is a temporary file of ReplaceFile whose writer has
// ended.
bool IsStaleTempFile(const std::string& directory, const CacheFile& file);

// Sets the times of an open file to now, because the file was used.
void SetUsedNow(int fd);

struct CacheSum {
  uint64_t files = 0;
  uint64_t bytes = 0;
};

// Removes the least recently used files of `files` until the remaining files
// have at most `goal` bytes. Returns the number of removed files and of removed
// bytes. Another process may remove files at the same time.
CacheSum RemoveLeastRecentlyUsed(const std::string& directory,
                                 std::vector<CacheFile> files, uint64_t goal);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_CACHE_DIRECTORY_H_
