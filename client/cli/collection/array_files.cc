// SPDX-License-Identifier: Apache-2.0
#include "client/cli/collection/array_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "client/cli/collection/parallel_jobs.h"
#include "client/cli/collection/strided_elements.h"
#include "client/files/safetensors.h"
#include "core/base/array_layout.h"
#include "core/base/error_detail.h"
#include "core/base/printable.h"
#include "core/base/sha256.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

// Bytes that a thread has in host memory at a time.
constexpr uint64_t kPiece = uint64_t{16} << 20;
// Bytes that a job uploads: enough pieces that the threads' own work is little,
// few enough that all threads have some to the end.
constexpr uint64_t kPart = 4 * kPiece;

absl::Status WriteAt(int fd, uint64_t offset, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put =
        pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return absl::ErrnoToStatus(errno, "cannot be written");
    bytes.remove_prefix(static_cast<size_t>(put));
    offset += static_cast<uint64_t>(put);
  }
  return absl::OkStatus();
}

// Sums up the bytes that several threads have done. Thread-safe.
class Meter {
 public:
  // `progress` must outlive this object.
  Meter(uint64_t all, const CopyProgress& progress)
      : all_(all), progress_(progress) {}

  void Add(uint64_t bytes) {
    absl::MutexLock lock(&mutex_);
    progress_(done_ += bytes, all_);
  }

 private:
  const uint64_t all_;
  const CopyProgress& progress_;
  absl::Mutex mutex_;
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Reads the next bytes of an array: shrinks `piece` to what is left, which is
// nothing in the end, and fills it.
using NextBytes = std::function<absl::Status(std::string& piece)>;

uint64_t Shrink(uint64_t left, std::string& piece) {
  piece.resize(std::min<uint64_t>(piece.size(), left));
  return piece.size();
}

// Bytes `begin` to `end` of an array of a file, which messages name if it is at
// fault.
NextBytes FileBytes(const std::string& path, int fd, const FileArray& array,
                    uint64_t begin, uint64_t end) {
  return [path, end, done = begin,
          reader = std::make_shared<FileArrayReader>(fd, array, begin)](
             std::string& piece) mutable {
    done += Shrink(end - done, piece);
    absl::Status status =
        piece.empty() ? reader->Finish() : reader->Read(piece);
    return status.ok() ? status : WithPrefix(path, status);
  };
}

// The arrays of a collection's memory.
NextBytes DeviceBytes(const Collection& collection,
                      const CollectionArray& array, const Stream& stream) {
  return [&, done = uint64_t{0}](std::string& piece) mutable {
    const uint64_t offset = array.offset + done;
    done += Shrink(array.size - done, piece);
    if (piece.empty()) return absl::OkStatus();
    return collection.buffers()[array.buffer].Download(
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

// Keeps other threads from strided arrays until it is dropped, because all
// bytes of one are in host memory at once. For an array in C order it does
// nothing.
std::unique_ptr<absl::MutexLock> AloneIfStrided(
    absl::Span<const int64_t> strides) {
  static absl::Mutex* const mutex = new absl::Mutex();
  if (strides.empty()) return nullptr;
  return std::make_unique<absl::MutexLock>(mutex);
}

// The elements of an array in C order. With strides, all its bytes are in host
// memory at once; see AloneIfStrided.
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
                                         const CollectionArray& array,
                                         const Stream& stream) {
  return InOrder(DeviceBytes(collection, array, stream), array.dtype,
                 array.shape, array.strides);
}

// Bytes of all elements of all arrays.
absl::StatusOr<uint64_t> ElementBytes(const Collection& collection) {
  uint64_t bytes = 0;
  for (const auto& [name, array] : collection.arrays()) {
    HOLDFAST_ASSIGN_OR_RETURN(const uint64_t size,
                              ArrayBytes(array.dtype, array.shape));
    bytes += size;
  }
  return bytes;
}

uint64_t TotalBytes(const Collection& collection) {
  uint64_t bytes = 0;
  for (const auto& [name, array] : collection.arrays()) bytes += array.size;
  return bytes;
}

// `begin`: where the data begins in the file.
absl::Status WriteArray(const Collection& collection, const Stream& stream,
                        int fd, const StoredArray& array, uint64_t begin,
                        Meter& meter) {
  uint64_t offset = begin + array.offset;
  const CollectionArray& there = collection.arrays().at(array.name);
  const auto alone = AloneIfStrided(there.strides);
  HOLDFAST_ASSIGN_OR_RETURN(const NextBytes elements,
                            DeviceElements(collection, there, stream));
  return ForEachPiece(elements, [&](absl::string_view piece) -> absl::Status {
    HOLDFAST_RETURN_IF_ERROR(WriteAt(fd, offset, piece));
    offset += piece.size();
    meter.Add(piece.size());
    return absl::OkStatus();
  });
}

absl::Status WriteArrays(const Collection& collection, const Stream& stream,
                         int fd, const CopyProgress& progress) {
  std::vector<StoredArray> stored;
  for (const auto& [name, array] : collection.arrays()) {
    stored.push_back({name, array.dtype, array.shape});
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      const std::string header,
      MakeSafetensorsHeader(stored, collection.metadata()));
  HOLDFAST_RETURN_IF_ERROR(WriteAt(fd, 0, header));
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t all, ElementBytes(collection));
  Meter meter(all, progress);
  HOLDFAST_RETURN_IF_ERROR(RunJobs(stored.size(), [&](size_t number) {
    return WriteArray(collection, stream, fd, stored[number], header.size(),
                      meter);
  }));
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

std::vector<ArrayFiles::Part> ArrayFiles::Parts(uint64_t most) const {
  std::vector<Part> parts;
  size_t index = 0;
  for (const File& file : files_) {
    for (const FileArray& array : file.arrays) {
      // An entry is read from its beginning, and checked at its end.
      const uint64_t step = array.entry.has_value() ? array.size : most;
      uint64_t begin = 0;
      do {
        const uint64_t size = std::min(step, array.size - begin);
        parts.push_back({&file, &array, index, begin, begin + size});
        begin += size;
      } while (begin < array.size);
      ++index;
    }
  }
  return parts;
}

absl::Status ArrayFiles::Upload(const CollectionWriter& writer,
                                const Stream& stream,
                                const CopyProgress& progress) const {
  Meter meter(TotalBytes(), progress);
  const std::vector<Part> parts = Parts(kPart);
  return RunJobs(parts.size(), [&](size_t number) -> absl::Status {
    const Part& part = parts[number];
    HOLDFAST_ASSIGN_OR_RETURN(const Buffer buffer, writer.Array(part.index));
    uint64_t offset = part.begin;
    return ForEachPiece(FileBytes(part.file->path, part.file->fd.get(),
                                  *part.array, part.begin, part.end),
                        [&](absl::string_view piece) -> absl::Status {
                          HOLDFAST_RETURN_IF_ERROR(buffer.Upload(
                              piece.data(), piece.size(), stream, offset));
                          offset += piece.size();
                          meter.Add(piece.size());
                          return absl::OkStatus();
                        });
  });
}

absl::StatusOr<std::string> ArrayFiles::Difference(
    const Part& whole, const Collection& collection, const Stream& stream,
    const std::function<void(uint64_t)>& compared) {
  const ArraySpec& here = whole.array->spec;
  const auto found = collection.arrays().find(here.name);
  if (found == collection.arrays().end()) return "not in the collection";
  const CollectionArray& there = found->second;
  if (there.dtype != here.dtype || there.shape != here.shape) {
    return absl::StrCat("of another type: ", there.dtype, "[",
                        absl::StrJoin(there.shape, ","), "], in the file ",
                        here.dtype, "[", absl::StrJoin(here.shape, ","), "]");
  }
  const auto alone =
      AloneIfStrided(here.strides.empty() ? absl::MakeConstSpan(there.strides)
                                          : absl::MakeConstSpan(here.strides));
  HOLDFAST_ASSIGN_OR_RETURN(
      const NextBytes ours,
      InOrder(FileBytes(whole.file->path, whole.file->fd.get(), *whole.array,
                        whole.begin, whole.end),
              here.dtype, here.shape, here.strides));
  HOLDFAST_ASSIGN_OR_RETURN(const NextBytes theirs,
                            DeviceElements(collection, there, stream));
  uint64_t done = 0;
  std::string other;
  std::string difference;
  HOLDFAST_RETURN_IF_ERROR(
      ForEachPiece(ours, [&](absl::string_view piece) -> absl::Status {
        other.resize(piece.size());
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
  Meter meter(TotalBytes(), progress);
  absl::Mutex mutex;  // guards `differences`
  const std::vector<Part> arrays = Parts(std::numeric_limits<uint64_t>::max());
  HOLDFAST_RETURN_IF_ERROR(
      RunJobs(arrays.size(), [&](size_t number) -> absl::Status {
        const Part& array = arrays[number];
        HOLDFAST_ASSIGN_OR_RETURN(
            std::string difference,
            Difference(array, collection, stream,
                       [&](uint64_t bytes) { meter.Add(bytes); }));
        absl::MutexLock lock(&mutex);
        differences[array.array->spec.name] = std::move(difference);
        return absl::OkStatus();
      }));
  std::erase_if(differences, [](const auto& d) { return d.second.empty(); });
  return differences;
}

absl::Status SaveCollection(const Collection& collection, const Stream& stream,
                            const std::string& path,
                            const CopyProgress& progress) {
  // A file of this process alone: others may have planted one, or a link.
  const std::string unfinished = absl::StrCat(path, ".", getpid(), ".part");
  const UniqueFd fd(open(unfinished.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         0666));
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
  Meter meter(TotalBytes(collection), progress);
  // Each job has an entry of its own.
  std::map<std::string, std::string> digests;
  std::vector<std::pair<const CollectionArray*, std::string*>> jobs;
  for (const auto& [name, array] : collection.arrays()) {
    jobs.emplace_back(&array, &digests[name]);
  }
  HOLDFAST_RETURN_IF_ERROR(
      RunJobs(jobs.size(), [&](size_t number) -> absl::Status {
        const auto& [array, digest] = jobs[number];
        Sha256Hasher sha256;
        HOLDFAST_RETURN_IF_ERROR(
            ForEachPiece(DeviceBytes(collection, *array, stream),
                         [&](absl::string_view piece) {
                           sha256.Update(piece);
                           meter.Add(piece.size());
                           return absl::OkStatus();
                         }));
        *digest = ToHex(sha256.Finish());
        return absl::OkStatus();
      }));
  return digests;
}

}  // namespace holdfast::cli
