// SPDX-License-Identifier: Apache-2.0
#include "server/executor/memory/chunk_copy.h"

#include "core/base/status_macros.h"
#include "core/memory/imported_chunk.h"
#include "cuda.h"
#include "server/account/quota.h"
#include "server/executor/memory/memory_image.h"

namespace holdfast::executor {
namespace {

// The copier's block is not charged here: the supervisor has charged it.
absl::StatusOr<std::unique_ptr<MemoryCopier>> MakeCopier(
    const std::shared_ptr<const cuda::Context>& context) {
  const auto staging =
      Quota::Create({.name = "staging memory of an executor without a session",
                     .unit = "bytes"});
  return MemoryCopier::Create(context, *staging);
}

}  // namespace

absl::Status SaveChunk(const std::shared_ptr<const cuda::Context>& context,
                       UniqueFd chunk, uint64_t size, int file) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto mapped,
      memory::ImportedChunk::Map(context, std::move(chunk), size,
                                 CU_MEM_ACCESS_FLAGS_PROT_READ));
  HOLDFAST_ASSIGN_OR_RETURN(const auto copier, MakeCopier(context));
  return copier->Save(DeviceRange{mapped->address(), size},
                      FilePlace{file, /*offset=*/0});
}

absl::StatusOr<LoadedChunk> LoadedChunk::Load(
    const std::shared_ptr<const cuda::Context>& context, uint64_t size,
    int file) {
  HOLDFAST_ASSIGN_OR_RETURN(
      auto range, memory::AddressRange::Reserve(context, size, /*hint=*/0));
  HOLDFAST_ASSIGN_OR_RETURN(
      auto chunk, memory::Chunk::Create(/*id=*/0, context, *range, size));
  HOLDFAST_ASSIGN_OR_RETURN(const auto copier, MakeCopier(context));
  HOLDFAST_RETURN_IF_ERROR(copier->Load(DeviceRange{chunk->address(), size},
                                        FilePlace{file, /*offset=*/0}));
  return LoadedChunk(std::move(range), std::move(chunk));
}

}  // namespace holdfast::executor
