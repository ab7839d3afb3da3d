// SPDX-License-Identifier: Apache-2.0
//
// The directory of a ZIP archive, as .npz files are: which entries there are
// and where their bytes lie. Stored and deflated entries, with the 64-bit
// fields of large archives ("zip64"). PKWARE, APPNOTE.TXT 6.3.
//
// Archives are hostile input: the directory and the header in front of each
// entry have to tell the same, and entries neither overlap nor lie beyond the
// directory. One that lies is refused, by the entry's name, before any of its
// bytes is decompressed.
#ifndef HOLDFAST_CLIENT_FILES_ZIP_DIRECTORY_H_
#define HOLDFAST_CLIENT_FILES_ZIP_DIRECTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace holdfast {

struct ZipEntry {
  // UTF-8; may be anything that a client writes, so it is no path.
  std::string name;
  bool deflated = false;
  // Where its own header begins in the file, and where its bytes do.
  uint64_t header_offset = 0;
  uint64_t offset = 0;
  // Bytes in the file, and when they are decompressed.
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
