// SPDX-License-Identifier: Apache-2.0
//
// Files that contain several pieces of device code: archives of objects (ar),
// and host objects, some of whose sections contain fat binaries.
#ifndef HOLDFAST_CORE_CUDA_ARCHIVE_H_
#define HOLDFAST_CORE_CUDA_ARCHIVE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast::cuda {

struct ArchiveMember {
  std::string name;
  absl::string_view bytes;
};

// Returns true if `bytes` begins with the signature of an archive, thin
// archives included.
bool IsArchive(absl::string_view bytes);

// Appends the members of the archive, without its table of symbols, to
// `*members`; they refer to `bytes`. Returns false if the archive is damaged or
// thin: the members of a thin archive are in other files. `*members` may then
// have a part of the members.
bool ReadArchive(absl::string_view bytes, std::vector<ArchiveMember>* members);

// Returns true if `bytes` is a 64-bit ELF file for a machine that is not a GPU.
bool IsHostObject(absl::string_view bytes);

// Returns the contents of the sections with fat binaries, as parts of `object`.
// One section may contain several fat binaries in a row. Returns no sections if
// the object has no device code, or is damaged.
std::vector<absl::string_view> FatbinSections(absl::string_view object);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_ARCHIVE_H_
