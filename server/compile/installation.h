// SPDX-License-Identifier: Apache-2.0
//
// The identity of the installed compilers, which is part of each CompileKey. It
// is also stored in a file, so that the next daemon finds earlier results
// before its first worker has loaded the compilers.
#ifndef HOLDFAST_SERVER_COMPILE_INSTALLATION_H_
#define HOLDFAST_SERVER_COMPILE_INSTALLATION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/compile/compiler.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast {

// Returns a text that describes the places where compilers are searched: the
// environment variables, and device, inode, size and times of each place and of
// each of `files`. While the text stays the same, the same compilers are
// loaded. Empty if one of `files` cannot be read.
std::string InstallationState(const std::vector<std::string>& files);

// Describes the loaded compilers: their identity, their files, and the present
// InstallationState. Identity and state are empty if a file of the compilers
// cannot be examined.
internal::Installation DescribeInstallation(const compile::Compiler& compiler);

// The name of the file with the installation in the directory of the DiskCache.
inline constexpr char kInstallationFile[] = "compilers";

// Reads kInstallationFile in `directory`. The result is empty if there is no
// such file, if another user could have written it, or if the installed
// compilers have changed.
internal::Installation ReadInstallation(const std::string& directory);

// Replaces kInstallationFile in `directory` atomically, and makes the directory
// if it is missing. Writes nothing if the content is unchanged. Returns the
// error of the system.
absl::Status WriteInstallation(const std::string& directory,
                               const internal::Installation& installation);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_INSTALLATION_H_
