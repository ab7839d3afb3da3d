// SPDX-License-Identifier: Apache-2.0
#include "server/collections/collection_version.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/array_layout.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"

namespace holdfast::collections {
namespace {

absl::Status WithArray(const v1::ArrayDescription& array,
                       const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat("array \"", ToPrintable(array.name()),
                                   "\": ", status.message()));
}

absl::Status CheckLayout(const v1::ArrayDescription& array) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const uint64_t extent,
      ArrayExtent(array.dtype(), array.shape(), array.strides()));
  if (extent != array.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "its size is ", array.size(), ", its dtype and shape take ", extent));
  }
  const uint64_t alignment = ElementBits(array.dtype()) / 8;
  if (alignment > 1 && array.offset() % alignment != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("offset ", array.offset(), " is no multiple of ",
                     alignment, ", the size of its elements"));
  }
  return absl::OkStatus();
}

absl::Status CheckPlace(const v1::ArrayDescription& array,
                        absl::Span<const uint64_t> buffer_sizes) {
  if (array.buffer() >= buffer_sizes.size()) {
    return absl::OutOfRangeError(absl::StrCat(
        "it is in buffer ", array.buffer(), " of ", buffer_sizes.size()));
  }
  const uint64_t size = buffer_sizes[array.buffer()];
  if (array.size() > size || array.offset() > size - array.size()) {
    return absl::OutOfRangeError(
        absl::StrCat(array.size(), " bytes at offset ", array.offset(),
                     " of buffer ", array.buffer(), ", which has ", size));
  }
  return absl::OkStatus();
}

absl::Status CheckArray(const v1::ArrayDescription& array,
                        absl::Span<const uint64_t> buffer_sizes) {
  HOLDFAST_RETURN_IF_ERROR(CheckArrayName(array.name()));
  HOLDFAST_RETURN_IF_ERROR(CheckLayout(array));
  return CheckPlace(array, buffer_sizes);
}

absl::Status CheckMetadata(const v1::CommitCollection& contents) {
  size_t bytes = 0;
  for (const auto& [key, value] : contents.metadata()) {
    bytes += key.size() + value.size();
  }
  return CheckMetadataSize(contents.name(), bytes);
}

}  // namespace

std::shared_ptr<const Quota> CollectionVersion::quota() const {
  return charges.empty() ? nullptr : charges.front()->quota();
}

uint64_t CollectionVersion::size() const {
  uint64_t bytes = 0;
  for (const SharedResource& buffer : buffers) bytes += buffer.size;
  return bytes;
}

std::set<SharedChunk*> CollectionVersion::chunks() const {
  std::set<SharedChunk*> chunks;
  for (const SharedResource& buffer : buffers)
    chunks.insert(buffer.chunk.get());
  return chunks;
}

absl::Status CheckContents(const v1::CommitCollection& contents,
                           absl::Span<const uint64_t> buffer_sizes) {
  HOLDFAST_RETURN_IF_ERROR(CheckCollectionName(contents.name()));
  HOLDFAST_RETURN_IF_ERROR(CheckMetadata(contents));
  if (buffer_sizes.empty() || buffer_sizes.size() > kMaxCollectionBuffers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "collection \"", contents.name(), "\" of ", buffer_sizes.size(),
        " buffers; 1 to ", kMaxCollectionBuffers, " are allowed"));
  }
  absl::flat_hash_set<absl::string_view> names;
  for (const v1::ArrayDescription& array : contents.arrays()) {
    if (!names.insert(array.name()).second) {
      return WithArray(array, absl::InvalidArgumentError("stands there twice"));
    }
    const absl::Status status = CheckArray(array, buffer_sizes);
    if (!status.ok()) return WithArray(array, status);
  }
  return absl::OkStatus();
}

}  // namespace holdfast::collections
