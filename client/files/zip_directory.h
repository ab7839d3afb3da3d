// SPDX-License-Identifier: Apache-2.0
//
// Reads the directory of a ZIP archive, such as an .npz file: the entries and
// the offsets of their bytes. Entries are stored or deflated, and may have the
// 64-bit fields of large archives ("zip64"). See PKWARE, APPNOTE.TXT 6.3.
//
// Archives are hostile input. The directory must agree with the header in front
// of each entry, and entries must neither overlap nor reach beyond the
// beginning of the directory. ReadZipDirectory refuses other archives before
// any byte is decompressed. Its message names the faulty entry, if there is
// one.
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

// The most entries. A collection has fewer arrays, because its description is
// one message of at most 4 MiB.
inline constexpr uint64_t kMaxZipEntries = 100'000;
// The most bytes of a directory.
inline constexpr uint64_t kMaxZipDirectory = 64'000'000;

// Reads the directory; the entries come in the order of their bytes. `fd` is
// borrowed; messages do not name the file.
// INVALID_ARGUMENT: not a ZIP archive; a directory and an entry's header that
//   differ; a name that is not UTF-8; an archive that is encrypted, split into
//   several files, or compressed by another method; sizes that no decompression
//   can have.
// OUT_OF_RANGE: an entry beyond the directory, entries that overlap, more than
//   kMaxZipEntries or kMaxZipDirectory, or a directory at another offset.
absl::StatusOr<std::vector<ZipEntry>> ReadZipDirectory(int fd);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_FILES_ZIP_DIRECTORY_H_
