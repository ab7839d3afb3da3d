// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/collection/collection_writer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/connection/request_text.h"
#include "client/cpp/state/session_state.h"
#include "core/base/array_layout.h"
#include "core/base/collection_limits.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

absl::Status WithArray(const ArraySpec& spec, const absl::Status& status) {
  return absl::Status(
      status.code(),
      absl::StrCat("array \"",
                   ToPrintable(absl::string_view(spec.name).substr(
                       0, kMaxCollectionName)),
                   "\": ", status.message()));
}

absl::StatusOr<CollectionArray> Describe(const ArraySpec& spec,
                                         uint64_t offset) {
  const absl::Status name = CheckArrayName(spec.name);
  if (!name.ok()) return WithArray(spec, name);
  const auto size = ArrayExtent(spec.dtype, spec.shape, spec.strides);
  if (!size.ok()) return WithArray(spec, size.status());
  return CollectionArray{spec, /*buffer=*/0, offset, *size};
}

v1::ArrayDescription ToMessage(const CollectionArray& array) {
  v1::ArrayDescription message;
  message.set_name(array.name);
  message.set_dtype(array.dtype);
  message.mutable_shape()->Add(array.shape.begin(), array.shape.end());
  message.mutable_strides()->Add(array.strides.begin(), array.strides.end());
  message.set_buffer(array.buffer);
  message.set_offset(array.offset);
  message.set_size(array.size);
  return message;
}

absl::Status CheckContents(const v1::CommitCollection& contents) {
  HOLDFAST_RETURN_IF_ERROR(CheckRequestText(contents));
  // A tag and two lengths, of the command and of its batch, are a few bytes.
  constexpr size_t kMost = kMaxCollectionDescription - 1024;
  const size_t bytes = contents.ByteSizeLong();
  if (bytes <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the description of ", contents.arrays_size(),
                   " arrays and the metadata "
                   "have ",
                   bytes, " bytes; limit: ", kMost));
}

}  // namespace

absl::StatusOr<CollectionWriter> CollectionWriter::Create(
    const Session& session, const std::vector<ArraySpec>& arrays,
    std::optional<uint32_t> device) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max() - kAlignment;
  v1::CommitCollection described;
  std::vector<CollectionArray> laid_out;
  uint64_t end = 0;
  for (const ArraySpec& spec : arrays) {
    HOLDFAST_ASSIGN_OR_RETURN(const CollectionArray array, Describe(spec, end));
    *described.add_arrays() = ToMessage(array);
    const uint64_t size = array.size;
    laid_out.push_back(array);
    if (size > kMost - end) {
      return absl::InvalidArgumentError("more bytes than 64 bits can count");
    }
    end += size;
    end = (end + kAlignment - 1) / kAlignment * kAlignment;
  }
  HOLDFAST_RETURN_IF_ERROR(CheckContents(described));
  const Device on =
      session.device(device.value_or(session.state()->first_device));
  HOLDFAST_ASSIGN_OR_RETURN(Buffer memory,
                            on.AllocateShared(std::max<uint64_t>(end, 1)));
  CollectionWriter writer(session, std::move(memory));
  writer.buffers_ = {writer.memory_.handle()};
  writer.arrays_ = std::move(laid_out);
  return writer;
}

absl::Status CollectionWriter::Adopt(const Collection& collection,
                                     const std::string& array) {
  const auto found = collection.arrays().find(array);
  if (found == collection.arrays().end()) {
    return absl::NotFoundError(absl::StrCat("collection \"", collection.name(),
                                            "\" has no array \"", array, "\""));
  }
  CollectionArray& adopted = arrays_.emplace_back(found->second);
  const uint64_t handle = collection.buffers()[adopted.buffer].handle();
  const auto known = std::find(buffers_.begin(), buffers_.end(), handle);
  adopted.buffer = static_cast<uint32_t>(known - buffers_.begin());
  if (known == buffers_.end()) buffers_.push_back(handle);
  return absl::OkStatus();
}

absl::StatusOr<Buffer> CollectionWriter::Array(size_t index) const {
  if (index >= arrays_.size() || arrays_[index].buffer != 0) {
    return absl::OutOfRangeError(
        absl::StrCat("array ", index, " is not there to be filled"));
  }
  return memory_.Sub(arrays_[index].offset, arrays_[index].size);
}

v1::CommitCollection CollectionWriter::Contents(
    const std::string& name,
    const std::map<std::string, std::string>& metadata) const {
  v1::CommitCollection contents;
  contents.set_name(name);
  contents.mutable_buffers()->Add(buffers_.begin(), buffers_.end());
  for (const CollectionArray& array : arrays_) {
    *contents.add_arrays() = ToMessage(array);
  }
  contents.mutable_metadata()->insert(metadata.begin(), metadata.end());
  return contents;
}

absl::Status CollectionWriter::CheckCommit(
    const std::string& name,
    const std::map<std::string, std::string>& metadata) const {
  HOLDFAST_RETURN_IF_ERROR(CheckCollectionName(name));
  size_t bytes = 0;
  for (const auto& [key, value] : metadata) bytes += key.size() + value.size();
  HOLDFAST_RETURN_IF_ERROR(CheckMetadataSize(name, bytes));
  return CheckContents(Contents(name, metadata));
}

absl::StatusOr<uint64_t> CollectionWriter::Commit(
    const std::string& name,
    const std::map<std::string, std::string>& metadata) {
  HOLDFAST_RETURN_IF_ERROR(CheckCommit(name, metadata));
  HOLDFAST_RETURN_IF_ERROR(session_->Synchronize());
  HOLDFAST_ASSIGN_OR_RETURN(
      const v1::Result result,
      memory_.session()->queue.Call([&](v1::Command& command) {
        *command.mutable_commit_collection() = Contents(name, metadata);
      }));
  return result.collection().version();
}

}  // namespace holdfast
