// SPDX-License-Identifier: Apache-2.0
//
// The directory of a ZIP archive, as .npz files are: which entries there are
// and where their bytes lie. Stored and deflated entries, with the 64-bit
// fields of large archives ("zip64"). PKWARE, APPNOTE.TXT 6.3.
//
// Archives are hostile input. The directory must agree with the header in front
// of each entry, and entries must neither overlap nor reach beyond the begin of
// the directory. Other archives are refused, by the entry's name, before any
// byte is decompressed.
#ifndef HOLDFAST_CLIENT_FILES_ZIP_DIRECTORY_H_
#define HOLDFAST_CLIENT_FILES_ZIP_DIRECTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace holdfast {

struct ZipEntry {
  // UTF-8. A client may have written any text, so do not use it as a path.
  std::string name;
  bool deflated = false;
  // The offsets of the entry's header and of its bytes in the file.
  uint64_t header_offset = 0;
  uint64_t offset = 0;
  // The number of bytes in the file, and after decompression.
  uint64_t stored_size = 0;
  uint64_t size = 0;
  // The checksum of the decompressed bytes.
  uint32_t crc32 = 0;
};

// More than the arrays of a collection, whose description is one message of at
// most 4 MiB.
inline constexpr uint64_t kMaxZipEntries = 100'000;
// Bytes.
inline constexpr uint64_t kMaxZipDirectory = 64'000'000;

// Reads the directory; the entries come in the order of their bytes. `fd` is
// borrowed; messages do not name the file.
// INVALID_ARGUMENT: not a ZIP archive; a directory and an entry's header that
//   differ; a name that is not UTF-8; encrypted, or of several files; sizes
//   that no decompression can have.
// OUT_OF_RANGE: an entry beyond the directory, entries that overlap, more than
//   kMaxZipEntries.
absl::StatusOr<std::vector<ZipEntry>> ReadZipDirectory(int fd);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_FILES_ZIP_DIRECTORY_H_
