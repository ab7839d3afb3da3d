// SPDX-License-Identifier: Apache-2.0
//
// One compiled program in a file:
//
//   "HFPROG1\n"  size of the head, 8 bytes  SHA-256 of the head  head  object
//
// The head, an internal.CachedProgram, contains the object's SHA-256, so that
// every byte is checked. The functions borrow the descriptor.
#ifndef HOLDFAST_SERVER_COMPILE_PROGRAM_FILE_H_
#define HOLDFAST_SERVER_COMPILE_PROGRAM_FILE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "holdfast/internal/cache.pb.h"
#include "server/compile/compiled_program.h"

namespace holdfast {

// Writes a program into an empty file. After an error of the system the file is
// unusable. REQUIRES: the descriptor is at the start.
absl::Status WriteProgramFile(int fd, const std::string& key,
                              const CompiledProgram& program);

// Reads a file that WriteProgramFile has written, and checks it. DATA_LOSS: the
// file is truncated or changed, or belongs to another key. Other errors do not
// mean that the file is damaged.
absl::StatusOr<std::shared_ptr<const CompiledProgram>> ReadProgramFile(
    int fd, const std::string& key);

// Reads and checks only the head. Fails as ReadProgramFile.
absl::StatusOr<internal::CachedProgram> ReadProgramHead(int fd,
                                                        const std::string& key);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_PROGRAM_FILE_H_
