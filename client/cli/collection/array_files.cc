// SPDX-License-Identifier: Apache-2.0
#include "client/cli/collection/array_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/collection/strided_elements.h"
#include "client/files/safetensors.h"
#include "core/base/array_layout.h"
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

// Reads the next bytes of an array: shrinks `piece` to what is left, which is
// nothing in the end, and fills it.
using NextBytes = std::function<absl::Status(std::string& piece)>;

uint64_t Shrink(uint64_t left, std::string& piece) {
  piece.resize(std::min<uint64_t>(piece.size(), left));
  return piece.size();
}

// The arrays of a file, which messages name if it is at fault.
NextBytes FileBytes(const std::string& path, int fd, const FileArray& array) {
  return [path, &array, done = uint64_t{0},
          reader = std::make_shared<FileArrayReader>(fd, array)](
             std::string& piece) mutable {
    done += Shrink(array.size - done, piece);
    absl::Status status =
        piece.empty() ? reader->Finish() : reader->Read(piece);
    return status.ok() ? status : WithPrefix(path, status);
  };
}

// The arrays of a collection's memory.
NextBytes DeviceBytes(const Collection& collection,
                      const v1::ArrayDescription& array, const Stream& stream) {
  return [&, done = uint64_t{0}](std::string& piece) mutable {
    const uint64_t offset = array.offset() + done;
    done += Shrink(array.size() - done, piece);
    if (piece.empty()) return absl::OkStatus();
    return collection.buffers()[array.buffer()].Download(
        piece.data(), piece.size(), stream, offset);
  };
}

// Calls `take` with each piece until there are no more.
absl::Status ForEachPiece(
    const NextBytes& next,
    const std::function<absl::Status(absl::string_view)>& take) {
  std::string piece;
  while (true) {
    piece.resize(kPiece);
    HOLDFAST_RETURN_IF_ERROR(next(piece));
    if (piece.empty()) return absl::OkStatus();
    HOLDFAST_RETURN_IF_ERROR(take(piece));
  }
}

// The elements of an array in C order. With strides, all its bytes are in host
// memory at once.
absl::StatusOr<NextBytes> InOrder(const NextBytes& bytes,
                                  absl::string_view dtype,
                                  absl::Span<const uint64_t> shape,
                                  absl::Span<const int64_t> strides) {
  if (strides.empty()) return bytes;
  auto all = std::make_shared<std::string>();
  HOLDFAST_RETURN_IF_ERROR(ForEachPiece(bytes, [&](absl::string_view piece) {
    all->append(piece.data(), piece.size());
    return absl::OkStatus();
  }));
  auto elements =
      std::make_shared<StridedElements>(dtype, shape, strides, *all);
  return [all, elements](std::string& piece) {
    elements->Read(piece);
    return absl::OkStatus();
  };
}

absl::StatusOr<NextBytes> DeviceElements(const Collection& collection,
                                         const v1::ArrayDescription& array,
                                         const Stream& stream) {
  return InOrder(DeviceBytes(collection, array, stream), array.dtype(),
                 array.shape(), array.strides());
}

// Bytes of all elements of all arrays.
absl::StatusOr<uint64_t> ElementBytes(const Collection& collection) {
  uint64_t bytes = 0;
  for (const auto& [name, array] : collection.arrays()) {
    HOLDFAST_ASSIGN_OR_RETURN(const uint64_t size,
                              ArrayBytes(array.dtype(), array.shape()));
    bytes += size;
  }
  return bytes;
}

uint64_t TotalBytes(const Collection& collection) {
  uint64_t bytes = 0;
  for (const auto& [name, array] : collection.arrays()) bytes += array.size();
  return bytes;
}

absl::Status WriteArrays(const Collection& collection, const Stream& stream,
                         int fd, const CopyProgress& progress) {
  std::vector<StoredArray> stored;
  for (const auto& [name, array] : collection.arrays()) {
    stored.push_back(
        {name, array.dtype(), {array.shape().begin(), array.shape().end()}});
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      const std::string header,
      MakeSafetensorsHeader(stored, collection.metadata()));
  HOLDFAST_RETURN_IF_ERROR(WriteAll(fd, header));
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t all, ElementBytes(collection));
  uint64_t done = 0;
  for (const StoredArray& array : stored) {
    HOLDFAST_ASSIGN_OR_RETURN(
        const NextBytes elements,
        DeviceElements(collection, collection.arrays().at(array.name), stream));
    HOLDFAST_RETURN_IF_ERROR(
        ForEachPiece(elements, [&](absl::string_view piece) {
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

uint64_t ArrayFiles::TotalBytes() const {
  uint64_t bytes = 0;
  for (const File& file : files_) {
    for (const FileArray& array : file.arrays) bytes += array.size;
  }
  return bytes;
}

absl::Status ArrayFiles::ReadAll(const ReadAhead::Give& give) const {
  size_t index = 0;
  std::string bytes;
  for (const File& file : files_) {
    for (const FileArray& array : file.arrays) {
      const NextBytes next = FileBytes(file.path, file.fd.get(), array);
      for (uint64_t done = 0;;) {
        bytes.resize(kPiece);
        HOLDFAST_RETURN_IF_ERROR(next(bytes));
        if (bytes.empty()) break;
        const uint64_t offset = done;
        done += bytes.size();
        if (!give(index, offset, bytes)) {
          return absl::CancelledError("no more is wanted");
        }
      }
      ++index;
    }
  }
  return absl::OkStatus();
}

absl::Status ArrayFiles::Upload(const CollectionWriter& writer,
                                const Stream& stream,
                                const CopyProgress& progress) const {
  const uint64_t all = TotalBytes();
  uint64_t done = 0;
  ReadAhead ahead(
      [this](const ReadAhead::Give& give) { return ReadAll(give); });
  while (true) {
    HOLDFAST_ASSIGN_OR_RETURN(std::optional<ArrayPiece> piece, ahead.Next());
    if (!piece.has_value()) return absl::OkStatus();
    HOLDFAST_ASSIGN_OR_RETURN(const Buffer buffer, writer.Array(piece->array));
    HOLDFAST_RETURN_IF_ERROR(buffer.Upload(
        piece->bytes.data(), piece->bytes.size(), stream, piece->offset));
    progress(done += piece->bytes.size(), all);
    ahead.Recycle(*std::move(piece));
  }
}

absl::StatusOr<std::string> ArrayFiles::Difference(
    const File& file, const FileArray& array, const Collection& collection,
    const Stream& stream, const std::function<void(uint64_t)>& compared) {
  const auto found = collection.arrays().find(array.spec.name);
  if (found == collection.arrays().end()) return "not in the collection";
  const v1::ArrayDescription& there = found->second;
  const ArraySpec& here = array.spec;
  if (there.dtype() != here.dtype ||
      !std::equal(there.shape().begin(), there.shape().end(),
                  here.shape.begin(), here.shape.end())) {
    return absl::StrCat("of another type: ", there.dtype(), "[",
                        absl::StrJoin(there.shape(), ","), "], in the file ",
                        here.dtype, "[", absl::StrJoin(here.shape, ","), "]");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const NextBytes ours,
                            InOrder(FileBytes(file.path, file.fd.get(), array),
                                    here.dtype, here.shape, here.strides));
  HOLDFAST_ASSIGN_OR_RETURN(const NextBytes theirs,
                            DeviceElements(collection, there, stream));
  uint64_t done = 0;
  std::string difference;
  HOLDFAST_RETURN_IF_ERROR(
      ForEachPiece(ours, [&](absl::string_view piece) -> absl::Status {
        std::string other(piece.size(), '\0');
        HOLDFAST_RETURN_IF_ERROR(theirs(other));
        compared(piece.size());
        if (difference.empty() && other != piece) {
          const auto at =
              std::mismatch(piece.begin(), piece.end(), other.begin()).first;
          difference = absl::StrCat("other bytes, from byte ",
                                    done + (at - piece.begin()), " on");
        }
        done += piece.size();
        return absl::OkStatus();
      }));
  return difference;
}

absl::StatusOr<std::map<std::string, std::string>> ArrayFiles::Compare(
    const Collection& collection, const Stream& stream,
    const CopyProgress& progress) const {
  std::map<std::string, std::string> differences;
  for (const auto& [name, array] : collection.arrays()) {
    differences[name] = "not in the files";
  }
  const uint64_t all = TotalBytes();
  uint64_t done = 0;
  const auto compared = [&](uint64_t bytes) { progress(done += bytes, all); };
  for (const File& file : files_) {
    for (const FileArray& array : file.arrays) {
      HOLDFAST_ASSIGN_OR_RETURN(
          differences[array.spec.name],
          Difference(file, array, collection, stream, compared));
    }
  }
  std::erase_if(differences, [](const auto& d) { return d.second.empty(); });
  return differences;
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
    HOLDFAST_RETURN_IF_ERROR(ForEachPiece(
        DeviceBytes(collection, array, stream), [&](absl::string_view piece) {
          sha256.Update(piece);
          progress(done += piece.size(), all);
          return absl::OkStatus();
        }));
    digests[name] = ToHex(sha256.Finish());
  }
  return digests;
}

}  // namespace holdfast::cli
