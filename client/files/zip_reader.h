// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_FILES_ZIP_READER_H_
#define HOLDFAST_CLIENT_FILES_ZIP_READER_H_

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "client/files/zip_directory.h"

namespace holdfast {

// Reads the contents of one entry of a ZIP archive from the beginning to the
// end, and decompresses them piece by piece. Its use of memory does not depend
// on the size that the entry claims. Not thread-safe.
class ZipReader {
 public:
  // `fd` is borrowed, and `entry` is an entry that ReadZipDirectory found in
  // it. `fd` and `entry` must outlive the reader.
  ZipReader(int fd, const ZipEntry& entry);
  ~ZipReader();
  ZipReader(const ZipReader&) = delete;
  ZipReader& operator=(const ZipReader&) = delete;

  // Reads the next `size` bytes. DATA_LOSS: the contents end too early, or
  // cannot be decompressed. OUT_OF_RANGE: the entry has fewer bytes left.
  absl::Status Read(char* data, size_t size);

  // Checks the end. REQUIRES: all contents were read. DATA_LOSS: there are more
  // bytes, or the checksum differs.
  absl::Status Finish();

 private:
  absl::Status Copy(char* data, size_t size);
  absl::Status Inflate(char* data, size_t size);
  // Decompresses as many bytes as stream_ has room for. Sets ended_ at the end.
  absl::Status InflateSome();

  const int fd_;
  const ZipEntry& entry_;
  // Bytes in the file that were not read yet.
  uint64_t left_;
  // Bytes of the contents that were read.
  uint64_t done_ = 0;
  uint32_t crc32_ = 0;
  // For deflated entries.
  z_stream stream_ = {};
  bool ready_ = false;
  bool ended_ = false;
  std::string input_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_FILES_ZIP_READER_H_
