// SPDX-License-Identifier: Apache-2.0
//
// One compiled program in a file:
//
//   "HFPROG1\n"  size of the head, 8 bytes  SHA-256 of the head  head  object
//
// The head, an internal.CachedProgram, has the object's SHA-256, so every byte
// is checked, and the object's are hashed once.
#ifndef HOLDFAST_SERVER_COMPILE_PROGRAM_FILE_H_
#define HOLDFAST_SERVER_COMPILE_PROGRAM_FILE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "holdfast/internal/cache.pb.h"
#include "server/compile/compiled_program.h"

namespace holdfast {

// At the descriptor's position, which is the file's start. On an error, what
// was written is of no use.
absl::Status WriteProgramFile(int fd, const std::string& key,
                              const CompiledProgram& program);

// DATA_LOSS: the file is truncated, changed, or another key's. Anything else
// is no fault of the file.
absl::StatusOr<std::shared_ptr<const CompiledProgram>> ReadProgramFile(
    int fd, const std::string& key);

// Without reading the object.
absl::StatusOr<internal::CachedProgram> ReadProgramHead(int fd,
                                                        const std::string& key);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_PROGRAM_FILE_H_
