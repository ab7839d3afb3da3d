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

// A chunk of another process, mapped at addresses of its own. The bytes live at
// least as long as the mapping, even if the process that made them ends. The
// mapping can be removed for a while; the addresses stay. Not thread-safe, but
// may be destroyed by any thread.
//
// The executor makes one for each buffer that a session imports, and for each
// mapping of MapBuffer. The owner can suspend an import: Unmap makes further
// accesses fault instead of reading another session's memory, and Remap makes
// the buffer valid again.
class ImportedChunk {
 public:
  // Takes over the addresses `range`, and maps nothing; Remap maps a chunk
  // there. REQUIRES: the size of `range` is a multiple of Chunk::Granularity.
  static absl::StatusOr<std::unique_ptr<ImportedChunk>> Reserve(
      std::shared_ptr<const cuda::Context> context,
      std::unique_ptr<AddressRange> range, CUmemAccess_flags rights);
  // Reserve and Remap in one, at any address. The device enforces the rights: a
  // kernel that writes without the right to faults. The memory may be of
  // another device that this one can reach. `descriptor` is untrusted.
  static absl::StatusOr<std::unique_ptr<ImportedChunk>> Map(
      std::shared_ptr<const cuda::Context> context, UniqueFd descriptor,
      uint64_t size, CUmemAccess_flags rights);

  // Never changes: a kernel's pointers stay valid over Unmap and Remap.
  CUdeviceptr address() const { return range_->base(); }
  uint64_t size() const { return range_->size(); }
  bool mapped() const { return chunk_ != nullptr; }
  // Returns the descriptor of the mapped memory, borrowed; -1: no memory is
  // mapped.
  int descriptor() const {
    return chunk_ == nullptr ? -1 : chunk_->descriptor();
  }

  // REQUIRES: no device uses the memory. Kernels that use it before Remap
  // fault.
  void Unmap() { chunk_ = nullptr; }
  // Maps the first size() bytes of a chunk at address(). Fails as
  // Chunk::Import; the addresses then stay unmapped, and Remap may be called
  // again. REQUIRES: nothing is mapped.
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
