// SPDX-License-Identifier: Apache-2.0
//
// Files that hold device code in parts: archives of objects (ar), and objects
// of the host, in whose sections compilers put fat binaries.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_ARCHIVE_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_ARCHIVE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast::software {

struct ArchiveMember {
  std::string name;
  absl::string_view bytes;
};

// Returns true if `bytes` begin as an archive does.
bool IsArchive(absl::string_view bytes);

// Lists the members, without the table of symbols. Returns false for a damaged
// archive, and for a thin one, whose members are elsewhere.
bool ReadArchive(absl::string_view bytes, std::vector<ArchiveMember>* members);

// Returns true for an ELF file that is not a GPU's.
bool IsHostObject(absl::string_view bytes);

// Returns the sections with fat binaries, each several of them in a row. None:
// the object has no device code, or is damaged.
std::vector<absl::string_view> FatbinSections(absl::string_view object);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_ARCHIVE_H_
