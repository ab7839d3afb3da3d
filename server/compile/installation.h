// SPDX-License-Identifier: Apache-2.0
//
// The identity of the installed compilers, stored for the next daemon. With it
// the next daemon finds earlier results before its first worker has loaded the
// compilers.
#ifndef HOLDFAST_SERVER_COMPILE_INSTALLATION_H_
#define HOLDFAST_SERVER_COMPILE_INSTALLATION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/compile/compiler.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast {

// Returns the state of the places where compilers are searched: the
// environment, and device, inode, size and times of each place and of each of
// `files`. While it stays the same, the same compilers are loaded. Empty if a
// file cannot be examined.
std::string InstallationState(const std::vector<std::string>& files);

// Describes the loaded compilers, with the present state. Identity and state
// are empty if a file cannot be examined.
internal::Installation DescribeInstallation(const compile::Compiler& compiler);

// The name of the file with the installation, in the directory of the cache.
inline constexpr char kInstallationFile[] = "compilers";

// Reads this file from the cache's directory. Like the programs there, it must
// belong to this user. The result has no identity if there is no such file, or
// if the installed compilers have changed.
internal::Installation ReadInstallation(const std::string& directory);

// Replaces the file atomically. Writes nothing if the content is unchanged.
absl::Status WriteInstallation(const std::string& directory,
                               const internal::Installation& installation);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_INSTALLATION_H_
