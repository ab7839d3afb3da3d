// SPDX-License-Identifier: Apache-2.0
#include "client/cli/collection/array_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "client/files/safetensors.h"
#include "core/base/error_detail.h"
#include "core/base/printable.h"
#include "core/base/sha256.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

// Bytes in host memory at a time.
constexpr uint64_t kPiece = uint64_t{16} << 20;

absl::Status WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return absl::ErrnoToStatus(errno, "cannot be written");
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return absl::OkStatus();
}

// Calls `take` with the bytes of an array of a file, piece by piece.
// Messages name the file if it is at fault.
absl::Status ReadArray(
    const std::string& path, int fd, const FileArray& array,
    const std::function<absl::Status(absl::string_view, uint64_t)>& take) {
  FileArrayReader reader(fd, array);
  std::string piece;
  for (uint64_t done = 0; done < array.size; done += piece.size()) {
    piece.resize(std::min(kPiece, array.size - done));
    const absl::Status read = reader.Read(piece);
    if (!read.ok()) return WithPrefix(path, read);
    HOLDFAST_RETURN_IF_ERROR(take(piece, done));
  }
  const absl::Status end = reader.Finish();
  return end.ok() ? end : WithPrefix(path, end);
}

// Calls `take` with the bytes of an array, piece by piece.
absl::Status DownloadArray(
    const Collection& collection, const v1::ArrayDescription& array,
    const Stream& stream,
    const std::function<absl::Status(absl::string_view)>& take) {
  const Buffer& buffer = collection.buffers()[array.buffer()];
  std::string piece;
  for (uint64_t done = 0; done < array.size(); done += piece.size()) {
    piece.resize(std::min(kPiece, array.size() - done));
    HOLDFAST_RETURN_IF_ERROR(buffer.Download(piece.data(), piece.size(), stream,
                                             array.offset() + done));
    HOLDFAST_RETURN_IF_ERROR(take(piece));
  }
  return absl::OkStatus();
}

uint64_t TotalBytes(const Collection& collection) {
  uint64_t bytes = 0;
  for (const auto& [name, array] : collection.arrays()) bytes += array.size();
  return bytes;
}

absl::Status CheckDense(const v1::ArrayDescription& array) {
  if (array.strides().empty()) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("array \"", ToPrintable(array.name()),
                   "\" has strides, which the file format has not"));
}

absl::Status WriteArrays(const Collection& collection, const Stream& stream,
                         int fd, const CopyProgress& progress) {
  std::vector<StoredArray> stored;
  for (const auto& [name, array] : collection.arrays()) {
    HOLDFAST_RETURN_IF_ERROR(CheckDense(array));
    stored.push_back(
        {name, array.dtype(), {array.shape().begin(), array.shape().end()}});
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      const std::string header,
      MakeSafetensorsHeader(stored, collection.metadata()));
  HOLDFAST_RETURN_IF_ERROR(WriteAll(fd, header));
  const uint64_t all = TotalBytes(collection);
  uint64_t done = 0;
  for (const StoredArray& array : stored) {
    HOLDFAST_RETURN_IF_ERROR(
        DownloadArray(collection, collection.arrays().at(array.name), stream,
                      [&](absl::string_view piece) {
                        progress(done += piece.size(), all);
                        return WriteAll(fd, piece);
                      }));
  }
  if (fsync(fd) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "cannot be written");
}

}  // namespace

absl::StatusOr<ArrayFiles> ArrayFiles::Open(
    const std::vector<std::string>& paths) {
  ArrayFiles files;
  absl::flat_hash_set<std::string> names;
  for (const std::string& path : paths) {
    UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return absl::ErrnoToStatus(errno, path);
    auto read = ReadFileArrays(fd.get(), path);
    if (!read.ok()) return WithPrefix(path, read.status());
    for (const FileArray& array : read->arrays) {
      if (!names.insert(array.spec.name).second) {
        return absl::AlreadyExistsError(
            absl::StrCat(path, ": array \"", ToPrintable(array.spec.name),
                         "\" is there already, in this file or another"));
      }
      files.arrays_.push_back(array.spec);
    }
    for (auto& [key, value] : read->metadata) {
      files.metadata_[key] = std::move(value);
    }
    files.files_.push_back({path, std::move(fd), std::move(read->arrays)});
  }
  return files;
}

absl::Status ArrayFiles::Upload(const CollectionWriter& writer,
                                const Stream& stream,
                                const CopyProgress& progress) const {
  uint64_t all = 0;
  for (const File& file : files_) {
    for (const FileArray& array : file.arrays) all += array.size;
  }
  uint64_t total = 0;
  size_t index = 0;
  for (const File& file : files_) {
    for (const FileArray& array : file.arrays) {
      HOLDFAST_ASSIGN_OR_RETURN(const Buffer buffer, writer.Array(index++));
      HOLDFAST_RETURN_IF_ERROR(ReadArray(
          file.path, file.fd.get(), array,
          [&](absl::string_view piece, uint64_t done) {
            progress(total += piece.size(), all);
            return buffer.Upload(piece.data(), piece.size(), stream, done);
          }));
    }
  }
  return absl::OkStatus();
}

absl::Status SaveCollection(const Collection& collection, const Stream& stream,
                            const std::string& path,
                            const CopyProgress& progress) {
  const std::string unfinished = absl::StrCat(path, ".part");
  const UniqueFd fd(
      open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, unfinished);
  absl::Status status = WriteArrays(collection, stream, fd.get(), progress);
  if (status.ok() && std::rename(unfinished.c_str(), path.c_str()) != 0) {
    status = absl::ErrnoToStatus(errno, "cannot be renamed");
  }
  if (status.ok()) return status;
  unlink(unfinished.c_str());
  return WithPrefix(path, status);
}

absl::StatusOr<std::map<std::string, std::string>> DigestArrays(
    const Collection& collection, const Stream& stream,
    const CopyProgress& progress) {
  std::map<std::string, std::string> digests;
  const uint64_t all = TotalBytes(collection);
  uint64_t done = 0;
  for (const auto& [name, array] : collection.arrays()) {
    Sha256Hasher sha256;
    HOLDFAST_RETURN_IF_ERROR(
        DownloadArray(collection, array, stream, [&](absl::string_view piece) {
          sha256.Update(piece);
          progress(done += piece.size(), all);
          return absl::OkStatus();
        }));
    digests[name] = ToHex(sha256.Finish());
  }
  return digests;
}

}  // namespace holdfast::cli
