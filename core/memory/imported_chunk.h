// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_MEMORY_IMPORTED_CHUNK_H_
#define HOLDFAST_CORE_MEMORY_IMPORTED_CHUNK_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "core/cuda/context.h"
#include "core/memory/address_range.h"
#include "core/memory/chunk.h"
#include "cuda.h"

namespace holdfast::memory {

// A mapping of a chunk (chunk.h) of another process. The bytes live at least as
// long as the mapping, even if the process that made the chunk ends. The
// mapping can be removed and made again; this object keeps the addresses. Not
// thread-safe, but any thread may destroy it.
//
// The executor makes one for each buffer that a session imports, and for each
// mapping of MapBuffer. The buffer's owner can suspend an import. The executor
// then calls Unmap, so that accesses fault instead of reading another session's
// memory, and later Remap, so that the buffer is valid again.
class ImportedChunk {
 public:
  // Takes the addresses `range` over, and maps nothing yet; Remap maps a chunk
  // there with `rights`. REQUIRES: the size of `range` is a multiple of
  // Chunk::Granularity.
  static absl::StatusOr<std::unique_ptr<ImportedChunk>> Reserve(
      std::shared_ptr<const cuda::Context> context,
      std::unique_ptr<AddressRange> range, CUmemAccess_flags rights);
  // Reserves `size` bytes of addresses anywhere, and calls Remap. The device
  // enforces the rights: a kernel faults if it writes without the right to
  // write. The memory may be of another device, if kernels of the context's
  // device can access it. `descriptor` is untrusted.
  static absl::StatusOr<std::unique_ptr<ImportedChunk>> Map(
      std::shared_ptr<const cuda::Context> context, UniqueFd descriptor,
      uint64_t size, CUmemAccess_flags rights);

  // The first address of the mapping. Never changes, so pointers are valid
  // again after Unmap and Remap.
  CUdeviceptr address() const { return range_->base(); }
  uint64_t size() const { return range_->size(); }
  bool mapped() const { return chunk_ != nullptr; }
  // Returns the descriptor of the mapped memory, borrowed; -1: no memory is
  // mapped.
  int descriptor() const {
    return chunk_ == nullptr ? -1 : chunk_->descriptor();
  }

  // Removes the mapping. Kernels that access the addresses before Remap fault.
  // REQUIRES: no device uses the memory.
  void Unmap() { chunk_ = nullptr; }
  // Maps the first size() bytes of a chunk at address(). Takes ownership of
  // `descriptor`. Fails as Chunk::Import does; the addresses then stay
  // unmapped, and Remap may be called again. REQUIRES: nothing is mapped.
  absl::Status Remap(UniqueFd descriptor);

 private:
  ImportedChunk(std::shared_ptr<const cuda::Context> context,
                std::unique_ptr<AddressRange> range, CUmemAccess_flags rights)
      : context_(std::move(context)),
        range_(std::move(range)),
        rights_(rights) {}

  const std::shared_ptr<const cuda::Context> context_;
  const std::unique_ptr<AddressRange> range_;
  const CUmemAccess_flags rights_;
  std::unique_ptr<Chunk> chunk_;  // ends before the range; null: not mapped
};

}  // namespace holdfast::memory

#endif  // HOLDFAST_CORE_MEMORY_IMPORTED_CHUNK_H_
