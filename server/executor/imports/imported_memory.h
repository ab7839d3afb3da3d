// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_IMPORTS_IMPORTED_MEMORY_H_
#define HOLDFAST_SERVER_EXECUTOR_IMPORTS_IMPORTED_MEMORY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "core/cuda/context.h"
#include "core/memory/address_range.h"
#include "core/memory/imported_chunk.h"
#include "cuda.h"
#include "server/executor/imports/sharing_link.h"

namespace holdfast::executor {

// Device memory of another session, or of a process outside Holdfast, mapped
// into this process. Belongs to the submission thread; may be destroyed by any
// thread. An import sleeps if its addresses are reserved but no memory is
// mapped there.
class ImportedMemory {
 public:
  // The place to map the memory at: an address in the range; 0: any address in
  // it.
  struct Place {
    std::shared_ptr<memory::AddressRange> addresses;
    CUdeviceptr address = 0;
  };

  // Maps the memory of `answer`, the supervisor's answer to an import. If
  // `answer` says that the import sleeps, only reserves addresses. Calls
  // `released` with the number of the import when the memory ends, also after
  // an error; `released` reports it to the supervisor. FAILED_PRECONDITION: the
  // context's device cannot access the memory's device. ALREADY_EXISTS: the
  // addresses are in use.
  static absl::StatusOr<std::shared_ptr<ImportedMemory>> Map(
      std::shared_ptr<const cuda::Context> context, Place place,
      SharingAnswer answer, std::function<void(uint64_t import)> released);
  // Maps `size` bytes at `offset` of the memory of an IPC handle, for reading
  // and writing. INVALID_ARGUMENT: the range is not within that memory.
  static absl::StatusOr<std::shared_ptr<ImportedMemory>> Open(
      std::shared_ptr<const cuda::Context> context,
      const CUipcMemHandle& handle, uint64_t offset, uint64_t size);
  // Like Open, for an allocation in the memory pool of another process.
  static absl::StatusOr<std::shared_ptr<ImportedMemory>> OpenPool(
      std::shared_ptr<const cuda::Context> context, UniqueFd pool,
      const CUmemPoolPtrExportData& data, uint64_t offset, uint64_t size);
  // Unmaps the memory, and calls `released` of Map. REQUIRES: no device uses
  // the memory.
  ~ImportedMemory();
  ImportedMemory(const ImportedMemory&) = delete;
  ImportedMemory& operator=(const ImportedMemory&) = delete;

  // Unmaps the memory, and keeps the addresses. REQUIRES: Map has made this
  // object, and no device uses the memory.
  void Sleep() { chunk_->Unmap(); }
  // Maps memory of the same size at the kept addresses. REQUIRES: asleep().
  absl::Status Wake(UniqueFd descriptor) {
    return chunk_->Remap(std::move(descriptor));
  }
  bool asleep() const { return chunk_ != nullptr && !chunk_->mapped(); }

  // The range that was imported.
  CUdeviceptr address() const { return base_ + offset_; }
  uint64_t size() const { return size_; }
  bool read_only() const { return read_only_; }
  // The offset of the range in the mapped memory, and the size of that memory.
  uint64_t offset() const { return offset_; }
  uint64_t mapped_size() const { return mapped_size_; }
  CUdeviceptr mapped_address() const { return base_; }
  // The memory's descriptor, which the object keeps open. -1: the import
  // sleeps, or was not made by Map.
  int descriptor() const {
    return chunk_ == nullptr ? -1 : chunk_->descriptor();
  }
  // The supervisor's number of the import.
  uint64_t import() const { return import_; }

 private:
  // Returns the range in an allocation that `owner` keeps mapped.
  static absl::StatusOr<std::shared_ptr<ImportedMemory>> InAllocation(
      CUdeviceptr base, uint64_t mapped_size, std::shared_ptr<const void> owner,
      uint64_t offset, uint64_t size);
  ImportedMemory(const internal::ImportedResource& imported,
                 std::function<void(uint64_t)> released);

  const uint64_t import_;
  const uint64_t offset_;
  const uint64_t size_;
  const bool read_only_;
  const std::function<void(uint64_t)> released_;
  // The mapped memory, and its owner: a chunk or an allocation.
  CUdeviceptr base_ = 0;
  uint64_t mapped_size_ = 0;
  std::unique_ptr<memory::ImportedChunk> chunk_;
  std::shared_ptr<const void> allocation_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_IMPORTS_IMPORTED_MEMORY_H_
