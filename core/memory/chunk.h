// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_MEMORY_CHUNK_H_
#define HOLDFAST_CORE_MEMORY_CHUNK_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "core/cuda/context.h"
#include "core/memory/address_range.h"
#include "cuda.h"

namespace holdfast::memory {

// Device memory that can outlive this process: made by cuMemCreate, exported as
// a POSIX descriptor, and mapped in the session's address range. A copy of the
// descriptor, in any process, keeps the bytes alive. Immutable; thread-safe.
//
// A chunk is made with Create, CreateAt (at an address of the caller's) or
// Import (from a descriptor). All three leave no address taken and no memory
// behind when they fail.
class Chunk {
 public:
  // Sizes of chunks are multiples of this: cuMemGetAllocationGranularity. This
  // is the granularity that the driver recommends, in bytes: 2 MiB on today's
  // GPUs.
  static absl::StatusOr<uint64_t> Granularity(const cuda::Context& context);

  // REQUIRES: `size` is a multiple of Granularity. RESOURCE_EXHAUSTED names
  // size, free and total bytes of the device. `range` must outlive the chunk.
  static absl::StatusOr<std::unique_ptr<Chunk>> Create(
      uint32_t id, std::shared_ptr<const cuda::Context> context,
      AddressRange& range, uint64_t size);

  // The same at an address of the range that is free. The bytes are undefined.
  // ALREADY_EXISTS: the addresses are in use or outside the range.
  static absl::StatusOr<std::unique_ptr<Chunk>> CreateAt(
      uint32_t id, std::shared_ptr<const cuda::Context> context,
      AddressRange& range, CUdeviceptr address, uint64_t size);

  // Maps the memory behind a chunk's descriptor, at an address of the range
  // that is free, for kernels of the context's device with these rights. The
  // bytes are unchanged. `descriptor` is untrusted: fails if it is not memory
  // of this size.
  static absl::StatusOr<std::unique_ptr<Chunk>> Import(
      uint32_t id, std::shared_ptr<const cuda::Context> context,
      AddressRange& range, UniqueFd descriptor, CUdeviceptr address,
      uint64_t size,
      CUmemAccess_flags rights = CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

  // Unmaps the chunk. The bytes end with the last descriptor and mapping in any
  // process. REQUIRES: the device has finished with them.
  ~Chunk();
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  // Sets how kernels of a device may access the chunk: cuMemSetAccess. Kernels
  // of its own device may read and write. Returns the driver's error. May be
  // called again with other rights; kernels that run meanwhile may see either.
  absl::Status SetAccess(CUdevice device, CUmemAccess_flags rights);

  uint32_t id() const { return id_; }  // the allocator's name for it
  CUdeviceptr address() const { return address_; }
  uint64_t size() const { return size_; }
  // Borrowed: the chunk closes it in its destructor.
  int descriptor() const { return descriptor_.get(); }

 private:
  Chunk(uint32_t id, std::shared_ptr<const cuda::Context> context,
        AddressRange& range, CUmemGenericAllocationHandle handle)
      : id_(id), context_(std::move(context)), range_(range), handle_(handle) {}
  // Makes and exports the memory, without mapping it.
  static absl::StatusOr<std::unique_ptr<Chunk>> Make(
      uint32_t id, std::shared_ptr<const cuda::Context> context,
      AddressRange& range, uint64_t size);
  absl::Status Export();
  absl::Status Map(CUdeviceptr address, uint64_t size,
                   CUmemAccess_flags rights);

  const uint32_t id_;
  const std::shared_ptr<const cuda::Context> context_;
  AddressRange& range_;
  const CUmemGenericAllocationHandle handle_;
  UniqueFd descriptor_;
  CUdeviceptr address_ = 0;
  uint64_t size_ = 0;
  bool mapped_ = false;
};

}  // namespace holdfast::memory

#endif  // HOLDFAST_CORE_MEMORY_CHUNK_H_
