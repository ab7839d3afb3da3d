// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_MEMORY_DEVICE_ALLOCATOR_H_
#define HOLDFAST_CORE_MEMORY_DEVICE_ALLOCATOR_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "core/cuda/context.h"
#include "core/cuda/event.h"
#include "core/cuda/stream.h"
#include "core/memory/address_range.h"
#include "core/memory/block_index.h"
#include "core/memory/chunk.h"

namespace holdfast::memory {

// An allocation and its place. A successor process can allocate the same place
// again, because an allocator uses each chunk id only once.
struct Allocation {
  CUdeviceptr address = 0;
  uint64_t size = 0;  // as requested; if 0, there is an address, too
  Block block;        // block.span is the chunk's id
};

// The memory of an allocator. All numbers are bytes, except for `chunks`.
struct MemoryStatistics {
  uint64_t used = 0;       // of the blocks of live allocations
  uint64_t peak_used = 0;  // the maximum of `used` so far
  uint64_t pending = 0;    // of freed blocks that the device may still use
  uint64_t reserved = 0;   // of all chunks
  uint64_t chunks = 0;
};

struct AllocatorOptions {
  // The minimum size of a shared chunk. Allocations over half of it get a chunk
  // of their own.
  uint64_t chunk_bytes = uint64_t{32} << 20;
  // The maximum size of a shared chunk. Shared chunks grow with the session's
  // memory in them, so that few chunks have to be mapped again after a fault.
  uint64_t max_chunk_bytes = uint64_t{1} << 30;

  // The device address to request; see AddressRange.
  CUdeviceptr address_hint = 0;

  // The lowest id for new chunks. In a successor process it is above all ids of
  // earlier processes: other sessions may still hold chunks of these processes
  // that the successor has not adopted.
  uint32_t first_chunk = 1;

  // Called after a chunk was made, and before a chunk is released. May be
  // empty. The caller uses them to keep the bytes alive in another process,
  // with a copy of the chunk's descriptor.
  std::function<void(const Chunk&)> chunk_created;
  std::function<void(const Chunk&)> chunk_released;

  // Enforce limits of memory, which the allocator itself does not have. May be
  // empty. `reserve` is called before a chunk of `bytes` bytes is made or
  // adopted; if it returns an error, the chunk is not made. `release` is called
  // when the chunk was released, or could not be made after `reserve`
  // succeeded.
  std::function<absl::Status(uint64_t bytes)> reserve;
  std::function<void(uint64_t bytes)> release;
};

// Allocates a session's memory on one device, from chunks. Frees are ordered by
// streams: an allocation for the same stream can reuse a freed block at once;
// other allocations can reuse the block when the stream has reached the free.
//
// If the driver checks the buffers of kernels (DriverApi::add_buffer), the
// allocator reports each allocation to it. Then unused bytes follow each
// allocation of Allocate, and a block that was freed on a stream stays pending
// for a while, so that accesses of kernels to these bytes fault.
//
// Not thread-safe: one thread of the executor enqueues the device's work, and
// only this thread uses the allocator.
//
// A session's executor has an allocator for each device. If the executor dies,
// its successor restores the memory from what `chunk_created` has reported:
//
//   allocator->BeginAdoption();
//   allocator->Adopt(chunk, std::move(fd), address, size, shared);
//   allocator->AllocateAt(block, size, alone);  // for each allocation
//   allocator->EndAdoption();  // releases chunks without allocations
class DeviceAllocator {
 public:
  // Addresses and block sizes of allocations in shared chunks are multiples of
  // this number.
  static constexpr uint64_t kAlignment = 512;  // bytes

  // Makes an allocator without chunks. Reserves addresses for three times the
  // device's memory, as room for fragmentation and imported memory; takes no
  // memory yet. Rounds the chunk sizes in `options` up to Chunk::Granularity.
  // Fails as the driver does.
  static absl::StatusOr<std::unique_ptr<DeviceAllocator>> Create(
      std::shared_ptr<const cuda::Context> context, AllocatorOptions options);

  // Releases all chunks. REQUIRES: the device uses no allocation any more.
  ~DeviceAllocator();
  DeviceAllocator(const DeviceAllocator&) = delete;
  DeviceAllocator& operator=(const DeviceAllocator&) = delete;

  // Allocates memory that `stream` uses first. Without a stream (null), takes
  // only blocks that no stream uses any more. The bytes are not cleared. If
  // there is no memory for another chunk, blocks until all pending frees are
  // done, and tries again; then also takes room in any shared chunk.
  // RESOURCE_EXHAUSTED: `reserve` refused a chunk, or the device has no memory;
  // in the second case the message has the size, and the free and total bytes.
  absl::StatusOr<Allocation> Allocate(uint64_t size,
                                      const cuda::Stream* stream);

  // Allocates memory in a chunk of its own, which never has another allocation,
  // so that the chunk can be shared with other processes. Rounds the size of
  // the chunk up to Chunk::Granularity. Otherwise does the same as Allocate
  // without a stream, but never uses a shared chunk.
  absl::StatusOr<Allocation> AllocateAlone(uint64_t size);

  // Maps a predecessor's chunk again, with the same id and address. `shared`:
  // the chunk was a shared chunk. Does not call `chunk_created`. Fails as
  // `reserve` and Chunk::Import do. ALREADY_EXISTS: `chunk` is 0 or the id of
  // another chunk, or the addresses are taken or outside of the allocator's
  // range. INVALID_ARGUMENT: `size` is 0 or not a multiple of
  // Chunk::Granularity.
  absl::Status Adopt(uint32_t chunk, UniqueFd descriptor, CUdeviceptr address,
                     uint64_t size, bool shared);
  // Does the same as Adopt for a chunk whose memory was lost: makes new memory
  // with undefined bytes, and calls `chunk_created`.
  absl::Status AdoptAnew(uint32_t chunk, CUdeviceptr address, uint64_t size,
                         bool shared);
  // Keeps empty chunks until EndAdoption, because AllocateAt may still place an
  // allocation in them. Until EndAdoption, only Adopt, AdoptAnew, AllocateAt
  // and Free may change the allocator.
  void BeginAdoption() { adopting_ = true; }
  // Releases every chunk in which AllocateAt has placed no allocation.
  void EndAdoption();
  bool HasChunk(uint32_t chunk) const { return chunks_.contains(chunk); }
  // Returns the chunk, or null. Valid until the chunk's last allocation is
  // freed.
  const Chunk* FindChunk(uint32_t chunk) const {
    const auto found = chunks_.find(chunk);
    return found == chunks_.end() ? nullptr : found->second.get();
  }

  // Allocates exactly `block` of an adopted chunk, for an allocation of `size`
  // bytes. `alone`: the predecessor made the allocation with AllocateAlone.
  // ALREADY_EXISTS: the block is taken, or does not fit the chunk. NOT_FOUND:
  // there is no such chunk, or the block is empty or smaller than `size`.
  absl::StatusOr<Allocation> AllocateAt(const Block& block, uint64_t size,
                                        bool alone);

  // The lowest address of the range for chunks.
  CUdeviceptr base() const { return range_->base(); }
  // The range of addresses for chunks, and for memory that the session imports
  // for use on this device.
  const std::shared_ptr<AddressRange>& addresses() const { return range_; }

  // Allows or denies writes to an allocation of AllocateAlone, by kernels of
  // this device and of all devices of AllowAccess. REQUIRES: no kernel that
  // uses the allocation is running.
  absl::Status SetWritable(const Allocation& allocation, bool writable);

  // Frees an allocation after the present work of `stream`. Does not block: the
  // block stays pending until a later call finds that the stream has reached
  // this point. Without a stream (null), frees the block at once; the memory
  // must then not be in use. REQUIRES: the allocation was not freed before.
  absl::Status Free(const Allocation& allocation, const cuda::Stream* stream);

  // Allow or revoke the use of all present and future allocations by kernels of
  // another device. Both change every chunk before they return. AllowAccess
  // stops at the first error; RevokeAccess continues, and returns the first
  // error. RevokeAccess REQUIRES that no kernel of `peer` uses the memory.
  absl::Status AllowAccess(CUdevice peer);
  absl::Status RevokeAccess(CUdevice peer);

  // The figures after the last call. A block whose free is done counts as
  // pending until a call notices that.
  const MemoryStatistics& statistics() const { return statistics_; }

 private:
  // A freed block. Work of the stream may use it until `done` completes.
  struct PendingFree {
    Block block;
    uint64_t stream_id;
    std::unique_ptr<cuda::Event> done;
  };

  DeviceAllocator(std::shared_ptr<const cuda::Context> context,
                  AllocatorOptions options, std::shared_ptr<AddressRange> range,
                  uint64_t granularity, uint64_t total);

  // Returns a block for an allocation. Tries, in this order, the stream's
  // pending frees, the shared chunks, and a new chunk. REQUIRES: `size` is a
  // multiple of kAlignment.
  absl::StatusOr<Block> Find(uint64_t size, const cuda::Stream* stream);
  // Calls `find`. If it returns RESOURCE_EXHAUSTED, waits for pending frees,
  // releases unused chunks, and calls `find` again.
  absl::StatusOr<Block> FindOrRelease(
      absl::FunctionRef<absl::StatusOr<Block>()> find);
  // Returns the size of the block for an allocation of `size` bytes.
  uint64_t BlockBytes(uint64_t size) const;
  // Reports to a driver that checks buffers that the allocation is freed when
  // the stream reaches this point; without a stream (null), at once.
  absl::Status Withdraw(const Allocation& allocation,
                        const cuda::Stream* stream) const;
  // Makes an allocation of `size` bytes of the block.
  Allocation Use(const Block& block, uint64_t size);
  // Takes the smallest sufficient block of the pending frees of the stream, if
  // it is less than about twice as large as `size`. Needs no wait, because the
  // stream orders both uses.
  std::optional<Block> TakeOwnPending(uint64_t size, uint64_t stream_id);
  // Creates a chunk and returns all of it as one block.
  absl::StatusOr<Block> AllocateChunk(uint64_t size);
  // Returns true if an allocation of this size lies in a chunk with others.
  bool IsShared(uint64_t size) const {
    return size <= options_.chunk_bytes / 2;
  }
  // Makes a shared chunk that is just large enough for `size`, and allocates
  // from it. Used after options_.reserve refused a chunk of `chunk_bytes`.
  // Returns nullopt if the device refused that chunk, or if the small chunk is
  // refused, too.
  std::optional<Block> AllocateInSmallestChunk(uint64_t size);
  // Makes a large chunk if memory is plentiful, else a small one.
  absl::Status AllocateSharedChunk();
  // Returns an eighth of the bytes in shared chunks, at most an eighth of the
  // free memory, within the options' bounds.
  uint64_t NextChunkBytes() const;
  absl::StatusOr<std::unique_ptr<Chunk>> CreateReserved(uint64_t size);
  // Reserves `size` bytes, then calls `make` for the chunk.
  absl::StatusOr<std::unique_ptr<Chunk>> Reserved(
      uint64_t size,
      absl::FunctionRef<absl::StatusOr<std::unique_ptr<Chunk>>()> make);
  // INVALID_ARGUMENT or ALREADY_EXISTS, as Adopt says.
  absl::Status CheckAdoption(uint32_t chunk, uint64_t size) const;
  void AddAdopted(std::unique_ptr<Chunk> chunk, bool shared);
  void Add(std::unique_ptr<Chunk> chunk);
  void AddShared(uint32_t chunk, uint64_t size);
  // Returns true if AllocateAt has placed no allocation in the adopted chunk.
  bool IsEmpty(uint32_t adopted) const;
  // RESOURCE_EXHAUSTED: `size` is more than the memory of the whole device.
  absl::Status CheckSize(uint64_t size) const;
  // Returns a spare event or a new one, for the caller to record.
  absl::StatusOr<std::unique_ptr<cuda::Event>> TakeEvent();
  // Releases pending blocks whose streams have reached the free. Checks at most
  // 16 blocks. If the driver checks buffers, keeps the last 64 MiB of blocks
  // pending.
  void Reap();
  // Blocks until every pending free is done, and releases the blocks.
  absl::Status WaitForPending();
  // Returns true if an empty shared chunk is kept for the next small
  // allocation.
  bool HasSpare() const;
  // Returns false if ReleaseUnused would release nothing.
  bool HasUnused() const;
  absl::Status ReleaseUnused();
  // Frees a block of a shared chunk, or releases the chunk if the block is all
  // of it.
  void ReleaseBlock(const Block& block);
  // Releases the spare chunk if it is larger than a new shared chunk would be.
  void TrimSpare();
  // REQUIRES: the chunk is empty.
  void ReleaseShared(uint32_t id);
  // Reports the chunk as released, then calls `release`.
  void ReleaseChunk(uint32_t id);

  const std::shared_ptr<const cuda::Context> context_;
  const AllocatorOptions options_;
  const std::shared_ptr<AddressRange> range_;
  const uint64_t granularity_;
  const uint64_t total_;  // bytes of the device
  const bool checked_;    // the driver checks buffers

  std::map<uint32_t, std::unique_ptr<Chunk>> chunks_;
  std::set<CUdevice> peers_;  // devices that have access
  uint32_t next_chunk_id_;
  bool refused_ = false;  // options_.reserve has refused the last chunk
  BlockIndex shared_;     // free blocks of the chunks that allocations share
  std::set<uint32_t> shared_chunks_;
  uint64_t shared_bytes_ = 0;  // of all shared chunks
  std::set<uint32_t> alone_;   // chunks of AllocateAlone
  std::set<uint32_t> whole_;   // adopted chunks of one restored allocation
  bool adopting_ = false;
  uint32_t spare_chunk_ = 0;  // a shared chunk that was empty when last seen
  std::list<PendingFree> pending_;
  std::vector<std::unique_ptr<cuda::Event>> spare_events_;
  MemoryStatistics statistics_;
};

}  // namespace holdfast::memory

#endif  // HOLDFAST_CORE_MEMORY_DEVICE_ALLOCATOR_H_
