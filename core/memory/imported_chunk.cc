// SPDX-License-Identifier: Apache-2.0
#include "core/memory/imported_chunk.h"

#include "core/base/status_macros.h"

namespace holdfast::memory {

absl::StatusOr<std::unique_ptr<ImportedChunk>> ImportedChunk::Reserve(
    std::shared_ptr<const cuda::Context> context,
    std::unique_ptr<AddressRange> range, CUmemAccess_flags rights) {
  return std::unique_ptr<ImportedChunk>(
      new ImportedChunk(std::move(context), std::move(range), rights));
}

absl::StatusOr<std::unique_ptr<ImportedChunk>> ImportedChunk::Map(
    std::shared_ptr<const cuda::Context> context, UniqueFd descriptor,
    uint64_t size, CUmemAccess_flags rights) {
  HOLDFAST_ASSIGN_OR_RETURN(auto range,
                            AddressRange::Reserve(context, size, /*hint=*/0));
  HOLDFAST_ASSIGN_OR_RETURN(
      auto imported, Reserve(std::move(context), std::move(range), rights));
  HOLDFAST_RETURN_IF_ERROR(imported->Remap(std::move(descriptor)));
  return imported;
}

absl::Status ImportedChunk::Remap(UniqueFd descriptor) {
  HOLDFAST_ASSIGN_OR_RETURN(
      chunk_, Chunk::Import(/*id=*/0, context_, *range_, std::move(descriptor),
                            range_->base(), range_->size(), rights_));
  return absl::OkStatus();
}

}  // namespace holdfast::memory
