// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_MEMORY_IMPORTED_CHUNK_H_
#define HOLDFAST_CORE_MEMORY_IMPORTED_CHUNK_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "core/cuda/context.h"
#include "core/memory/address_range.h"
#include "core/memory/chunk.h"
#include "cuda.h"

namespace holdfast::memory {

// A chunk of another process, mapped in a range of addresses of its own. The
// bytes live at least as long as this object, whatever becomes of their maker.
// Immutable; thread-safe.
class ImportedChunk {
 public:
  // Kernels of the context's device get these rights, which the device
  // enforces: one that stores without the right to faults. The memory may be of
  // another device that this one can reach. `descriptor` may be anything.
  static absl::StatusOr<std::unique_ptr<ImportedChunk>> Map(
      std::shared_ptr<const cuda::Context> context, UniqueFd descriptor,
      uint64_t size, CUmemAccess_flags rights);

  CUdeviceptr address() const { return chunk_->address(); }
  uint64_t size() const { return chunk_->size(); }

 private:
  explicit ImportedChunk(std::unique_ptr<AddressRange> range)
      : range_(std::move(range)) {}

  const std::unique_ptr<AddressRange> range_;
  std::unique_ptr<Chunk> chunk_;  // ends before the range
};

}  // namespace holdfast::memory

#endif  // HOLDFAST_CORE_MEMORY_IMPORTED_CHUNK_H_
