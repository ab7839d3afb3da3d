// SPDX-License-Identifier: Apache-2.0
//
// Which compilers are installed, known from one daemon to the next: what was
// compiled before a restart is found before the first worker has loaded its
// compilers.
#ifndef HOLDFAST_SERVER_COMPILE_INSTALLATION_H_
#define HOLDFAST_SERVER_COMPILE_INSTALLATION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/compile/compiler.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast {

// Where a compiler would be looked for, as it is now: the environment, and for
// each place and each of `files` device, inode, size and times. As long as that
// is the same, the same compilers are loaded. Empty: a file cannot be looked
// at.
std::string InstallationState(const std::vector<std::string>& files);

// Describes the compilers that are loaded, with the state as it is now;
// identity and state are empty if a file cannot be looked at.
internal::Installation DescribeInstallation(const compile::Compiler& compiler);

// The name of the note, beside the programs.
inline constexpr char kInstallationFile[] = "compilers";

// The note in the cache's directory. Like a program there, it must be this
// user's alone. Without identity: there is none, or what it tells of is not
// what is installed now.
internal::Installation ReadInstallation(const std::string& directory);

// Replaces the note in one step; nothing is written if it says the same.
absl::Status WriteInstallation(const std::string& directory,
                               const internal::Installation& installation);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_INSTALLATION_H_
