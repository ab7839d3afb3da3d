// SPDX-License-Identifier: Apache-2.0
//
// The directory of the cache on disk. What lies there is code that will run, so
// nobody but this user may be able to write to it.
#ifndef HOLDFAST_SERVER_COMPILE_CACHE_DIRECTORY_H_
#define HOLDFAST_SERVER_COMPILE_CACHE_DIRECTORY_H_

#include <sys/stat.h>

#include <string>

#include "absl/status/status.h"

namespace holdfast {

// Nobody else can have written this file, or can add one to this directory.
bool IsTrusted(const struct stat& info);

// PERMISSION_DENIED: it is not a directory that can be trusted.
absl::Status CheckDirectory(const std::string& path);

// Makes it, and those above it, with mode 0700; then as CheckDirectory.
absl::Status MakeDirectories(const std::string& path);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_CACHE_DIRECTORY_H_
