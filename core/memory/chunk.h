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
// A chunk is made with Create, CreateAt (at an address that the caller chooses)
// or Import (from a descriptor). If one of them fails, it has taken neither
// addresses nor memory.
class Chunk {
 public:
  // Returns the number of bytes of which the sizes of chunks are multiples: the
  // granularity that the driver recommends (cuMemGetAllocationGranularity), 2
  // MiB on today's GPUs.
  static absl::StatusOr<uint64_t> Granularity(const cuda::Context& context);

  // Makes a chunk at any free address of the range, readable and writable for
  // kernels of the context's device. The bytes are undefined. `range` must
  // outlive the chunk. RESOURCE_EXHAUSTED: the device has no memory (the
  // message has the size, and the free and total bytes of the device), or the
  // range has no free addresses. REQUIRES: `size` is a multiple of Granularity.
  static absl::StatusOr<std::unique_ptr<Chunk>> Create(
      uint32_t id, std::shared_ptr<const cuda::Context> context,
      AddressRange& range, uint64_t size);

  // Makes a chunk at `address`, otherwise as Create does. ALREADY_EXISTS: the
  // addresses are in use or outside of the range.
  static absl::StatusOr<std::unique_ptr<Chunk>> CreateAt(
      uint32_t id, std::shared_ptr<const cuda::Context> context,
      AddressRange& range, CUdeviceptr address, uint64_t size);

  // Makes a chunk of existing memory: maps the memory of another chunk's
  // descriptor at `address`, for kernels of the context's device with these
  // rights. The bytes are unchanged. Takes ownership of `descriptor`, which is
  // untrusted: fails as the driver does if it is not memory of this size.
  // ALREADY_EXISTS: the addresses are in use or outside of the range.
  static absl::StatusOr<std::unique_ptr<Chunk>> Import(
      uint32_t id, std::shared_ptr<const cuda::Context> context,
      AddressRange& range, UniqueFd descriptor, CUdeviceptr address,
      uint64_t size,
      CUmemAccess_flags rights = CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

  // Unmaps the chunk. The memory is freed when no process has a descriptor or a
  // mapping of it any more. REQUIRES: the device does not use this mapping any
  // more.
  ~Chunk();
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  // Sets how kernels of a device may access the chunk: cuMemSetAccess. Other
  // devices have no access before. Fails as the driver does. May be called
  // again with other rights; kernels that run at the time may have the old or
  // the new rights.
  absl::Status SetAccess(CUdevice device, CUmemAccess_flags rights);

  uint32_t id() const { return id_; }  // the caller's number of the chunk
  CUdeviceptr address() const { return address_; }
  uint64_t size() const { return size_; }
  // The descriptor of the memory, which the chunk closes in its destructor.
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
