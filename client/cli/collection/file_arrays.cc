// SPDX-License-Identifier: Apache-2.0
#include "client/cli/collection/file_arrays.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/npy.h"
#include "client/files/read_range.h"
#include "client/files/safetensors.h"
#include "core/base/array_layout.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "core/base/utf8.h"

namespace holdfast::cli {
namespace {

absl::Status InEntry(const ZipEntry& entry, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("entry \"", ToPrintable(entry.name),
                                   "\": ", status.message()));
}

// Elements from one to the next of each dimension, the first being the fastest.
// None if it is C order, too. REQUIRES: ByteSize can count the array.
std::vector<int64_t> FortranStrides(const std::vector<uint64_t>& shape) {
  const auto is_one = [](uint64_t extent) { return extent == 1; };
  const bool empty = std::count(shape.begin(), shape.end(), 0u) > 0;
  const auto ones = std::count_if(shape.begin(), shape.end(), is_one);
  if (empty || ones + 1 >= static_cast<std::ptrdiff_t>(shape.size())) return {};
  std::vector<int64_t> strides;
  uint64_t stride = 1;
  for (const uint64_t extent : shape) {
    strides.push_back(static_cast<int64_t>(stride));
    stride *= extent;
  }
  return strides;
}

// Takes the next bytes of a file.
using ReadNext = std::function<absl::Status(char* data, size_t size)>;

// Reads the header of a .npy file of `size` bytes.
absl::StatusOr<FileArray> ReadNpyHeader(std::string name, uint64_t size,
                                        const ReadNext& read) {
  std::string begin(std::min<uint64_t>(kNpyPreamble, size), '\0');
  HOLDFAST_RETURN_IF_ERROR(read(begin.data(), begin.size()));
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t offset, NpyDataOffset(begin));
  const size_t had = begin.size();
  begin.resize(std::clamp<uint64_t>(offset, had, size));
  HOLDFAST_RETURN_IF_ERROR(read(begin.data() + had, begin.size() - had));
  HOLDFAST_ASSIGN_OR_RETURN(NpyHeader header, ParseNpyHeader(begin));
  if (header.data_size != size - header.data_offset) {
    return absl::InvalidArgumentError(absl::StrCat(
        "not a valid .npy: ", Describe(header.type, header.shape), " has ",
        header.data_size, " bytes, there are ", size - header.data_offset));
  }
  FileArray array;
  array.offset = header.data_offset;
  array.size = header.data_size;
  array.spec.name = std::move(name);
  array.spec.dtype = absl::AsciiStrToUpper(Name(header.type));
  if (header.fortran_order) array.spec.strides = FortranStrides(header.shape);
  array.spec.shape = std::move(header.shape);
  HOLDFAST_RETURN_IF_ERROR(
      ArrayExtent(array.spec.dtype, array.spec.shape, array.spec.strides)
          .status());
  return array;
}

absl::StatusOr<FileArrays> ReadNpyArrays(int fd, const std::string& path) {
  const std::string name = std::filesystem::path(path).stem();
  if (!IsValidUtf8(name)) {
    return absl::InvalidArgumentError(
        "the array is to have the file's name, which is not UTF-8");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t size, FileSize(fd));
  uint64_t done = 0;
  HOLDFAST_ASSIGN_OR_RETURN(
      FileArray array, ReadNpyHeader(name, size, [&](char* data, size_t bytes) {
        done += bytes;
        return ReadRange(fd, data, bytes, done - bytes);
      }));
  return FileArrays{{std::move(array)}, {}};
}

absl::StatusOr<FileArray> ReadEntryHeader(int fd, ZipEntry entry) {
  absl::string_view name = entry.name;
  if (!absl::ConsumeSuffix(&name, ".npy") || name.empty()) {
    return absl::InvalidArgumentError("its name is not that of a .npy file");
  }
  ZipReader reader(fd, entry);
  HOLDFAST_ASSIGN_OR_RETURN(FileArray array,
                            ReadNpyHeader(std::string(name), entry.size,
                                          [&](char* data, size_t size) {
                                            return reader.Read(data, size);
                                          }));
  array.entry = std::move(entry);
  return array;
}

absl::StatusOr<FileArrays> ReadNpzArrays(int fd) {
  HOLDFAST_ASSIGN_OR_RETURN(std::vector<ZipEntry> entries,
                            ReadZipDirectory(fd));
  FileArrays arrays;
  for (const ZipEntry& entry : entries) {
    auto array = ReadEntryHeader(fd, entry);
    if (!array.ok()) return InEntry(entry, array.status());
    arrays.arrays.push_back(*std::move(array));
  }
  return arrays;
}

absl::StatusOr<FileArrays> ReadSafetensorsArrays(int fd) {
  HOLDFAST_ASSIGN_OR_RETURN(SafetensorsFile file, ReadSafetensors(fd));
  FileArrays arrays;
  arrays.metadata = std::move(file.header.metadata);
  for (StoredArray& stored : file.header.arrays) {
    FileArray& array = arrays.arrays.emplace_back();
    array.spec.name = std::move(stored.name);
    array.spec.dtype = std::move(stored.dtype);
    array.spec.shape = std::move(stored.shape);
    array.offset = file.data_offset + stored.offset;
    array.size = stored.size;
  }
  return arrays;
}

}  // namespace

absl::StatusOr<FileArrays> ReadFileArrays(int fd, const std::string& path) {
  if (absl::EndsWith(path, ".npy")) return ReadNpyArrays(fd, path);
  if (absl::EndsWith(path, ".npz")) return ReadNpzArrays(fd);
  return ReadSafetensorsArrays(fd);
}

FileArrayReader::FileArrayReader(int fd, const FileArray& array, uint64_t begin)
    : fd_(fd), array_(array), done_(begin) {
  if (array.entry.has_value()) zip_.emplace(fd, *array.entry);
}

absl::Status FileArrayReader::SkipHeader() {
  if (skipped_) return absl::OkStatus();
  skipped_ = true;
  std::string header(array_.offset, '\0');
  return zip_->Read(header.data(), header.size());
}

absl::Status FileArrayReader::Read(std::string& piece) {
  if (!zip_.has_value()) {
    const uint64_t offset = array_.offset + done_;
    done_ += piece.size();
    return ReadRange(fd_, piece.data(), piece.size(), offset);
  }
  absl::Status status = SkipHeader();
  if (status.ok()) status = zip_->Read(piece.data(), piece.size());
  return InEntry(*array_.entry, status);
}

absl::Status FileArrayReader::Finish() {
  if (!zip_.has_value()) return absl::OkStatus();
  absl::Status status = SkipHeader();
  if (status.ok()) status = zip_->Finish();
  return InEntry(*array_.entry, status);
}

}  // namespace holdfast::cli
