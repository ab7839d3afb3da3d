// SPDX-License-Identifier: Apache-2.0
#include "core/memory/imported_chunk.h"

#include "core/base/status_macros.h"

namespace holdfast::memory {

absl::StatusOr<std::unique_ptr<ImportedChunk>> ImportedChunk::Map(
    std::shared_ptr<const cuda::Context> context, UniqueFd descriptor,
    uint64_t size, CUmemAccess_flags rights) {
  HOLDFAST_ASSIGN_OR_RETURN(auto range,
                            AddressRange::Reserve(context, size, /*hint=*/0));
  std::unique_ptr<ImportedChunk> imported(new ImportedChunk(std::move(range)));
  HOLDFAST_ASSIGN_OR_RETURN(
      imported->chunk_, Chunk::Import(/*id=*/0, std::move(context),
                                      *imported->range_, std::move(descriptor),
                                      imported->range_->base(), size, rights));
  return imported;
}

}  // namespace holdfast::memory
