// SPDX-License-Identifier: Apache-2.0
//
// The directory of the cache on disk. Its files are code that will run, so no
// other user may be able to write to it; and a file there is whole,
// or not there, whenever a daemon is killed.
#ifndef HOLDFAST_SERVER_COMPILE_CACHE_DIRECTORY_H_
#define HOLDFAST_SERVER_COMPILE_CACHE_DIRECTORY_H_

#include <sys/stat.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace holdfast {

// The note of which compilers are installed, beside the programs.
inline constexpr char kInstallationFile[] = "compilers";

// Nobody else can have written this file, or can add one to this directory.
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

// True for such a file if its writer is gone.
bool IsStaleTempFile(int directory_fd, const char* name,
                     const struct stat& info);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_CACHE_DIRECTORY_H_
