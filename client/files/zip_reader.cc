// SPDX-License-Identifier: Apache-2.0
#include "client/files/zip_reader.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "client/files/read_range.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// Compressed bytes that are read at a time.
constexpr uint64_t kInput = uint64_t{256} << 10;

}  // namespace

ZipReader::ZipReader(int fd, const ZipEntry& entry)
    : fd_(fd), entry_(entry), left_(entry.stored_size) {
  // Minus: without zlib's own header around the data.
  if (entry.deflated) ready_ = inflateInit2(&stream_, -MAX_WBITS) == Z_OK;
}

ZipReader::~ZipReader() {
  if (ready_) inflateEnd(&stream_);
}

absl::Status ZipReader::Read(char* data, size_t size) {
  if (size > entry_.size - done_) {
    return absl::OutOfRangeError(absl::StrCat(size, " bytes from byte ", done_,
                                              " of ", entry_.size, " on"));
  }
  if (size == 0) return absl::OkStatus();
  HOLDFAST_RETURN_IF_ERROR(entry_.deflated ? Inflate(data, size)
                                           : Copy(data, size));
  done_ += size;
  crc32_ = static_cast<uint32_t>(
      crc32_z(crc32_, reinterpret_cast<const Bytef*>(data), size));
  return absl::OkStatus();
}

absl::Status ZipReader::Copy(char* data, size_t size) {
  HOLDFAST_RETURN_IF_ERROR(
      ReadRange(fd_, data, size, entry_.offset + entry_.stored_size - left_));
  left_ -= size;
  return absl::OkStatus();
}

absl::Status ZipReader::InflateSome() {
  if (!ready_) return absl::ResourceExhaustedError("no memory to decompress");
  if (stream_.avail_in == 0 && left_ > 0) {
    input_.resize(std::min(kInput, left_));
    HOLDFAST_RETURN_IF_ERROR(
        ReadRange(fd_, input_.data(), input_.size(),
                  entry_.offset + entry_.stored_size - left_));
    left_ -= input_.size();
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(input_.size());
  }
  const int result = inflate(&stream_, Z_NO_FLUSH);
  ended_ = result == Z_STREAM_END;
  if (result == Z_OK || ended_) return absl::OkStatus();
  if (result == Z_BUF_ERROR) {
    return absl::DataLossError("the compressed data is cut short");
  }
  return absl::DataLossError(
      absl::StrCat("the compressed data is damaged: ",
                   stream_.msg == nullptr ? "no reason given" : stream_.msg));
}

absl::Status ZipReader::Inflate(char* data, size_t size) {
  while (size > 0) {
    if (ended_) {
      return absl::DataLossError(absl::StrCat(
          "it decompresses to fewer bytes than its ", entry_.size));
    }
    const auto room = static_cast<uInt>(
        std::min<size_t>(size, std::numeric_limits<uInt>::max()));
    stream_.next_out = reinterpret_cast<Bytef*>(data);
    stream_.avail_out = room;
    HOLDFAST_RETURN_IF_ERROR(InflateSome());
    data += room - stream_.avail_out;
    size -= room - stream_.avail_out;
  }
  return absl::OkStatus();
}

absl::Status ZipReader::Finish() {
  Bytef more = 0;
  while (entry_.deflated && !ended_) {
    stream_.next_out = &more;
    stream_.avail_out = 1;
    HOLDFAST_RETURN_IF_ERROR(InflateSome());
    if (stream_.avail_out == 0) {
      return absl::DataLossError(
          absl::StrCat("it decompresses to more bytes than its ", entry_.size));
    }
  }
  if (left_ > 0 || stream_.avail_in > 0) {
    return absl::DataLossError("something follows the compressed data");
  }
  if (crc32_ == entry_.crc32) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "its checksum is ", absl::Hex(crc32_, absl::kZeroPad8),
      ", the directory has ", absl::Hex(entry_.crc32, absl::kZeroPad8)));
}

}  // namespace holdfast
