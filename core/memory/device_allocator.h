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
// again, because chunk ids are unique in an allocator's life.
struct Allocation {
  CUdeviceptr address = 0;
  uint64_t size = 0;  // as requested; 0 is allowed and has an address
  Block block;        // block.span is the chunk's id
};

// Bytes, except for `chunks`.
struct MemoryStatistics {
  uint64_t used = 0;       // in live allocations, rounded
  uint64_t peak_used = 0;  // maximum of `used`
  uint64_t pending = 0;    // freed, perhaps still in use by the device
  uint64_t reserved = 0;   // in chunks
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

  // The lowest id for new chunks. A successor's is above all ids of earlier
  // processes, whose chunks other sessions may still hold without the successor
  // having adopted them.
  uint32_t first_chunk = 1;

  // Called after a chunk was made and before one is released, so that a copy of
  // its descriptor can keep the bytes alive in another process.
  std::function<void(const Chunk&)> chunk_created;
  std::function<void(const Chunk&)> chunk_released;

  // `reserve` is called before a chunk of this size is made; its error refuses
  // the chunk. `release` is called when the chunk was released or could not be
  // made. They enforce limits, which the allocator does not know.
  std::function<absl::Status(uint64_t bytes)> reserve;
  std::function<void(uint64_t bytes)> release;
};

// A session's memory on one device, cut from chunks. Frees are ordered by
// streams: later work of the same stream can reuse a freed block at once, other
// streams when the freeing stream has reached the free.
//
// If the driver checks the buffers of kernels (DriverApi::add_buffer), the
// allocator tells it of each allocation. Then unused bytes follow each
// allocation of Allocate, and a block that was freed on a stream stays pending
// for a while, so that accesses of kernels to these bytes fault.
//
// Not thread-safe: belongs to the thread that gives the device its work.
//
// A session's executor has one for each device. A successor restores the memory
// from its predecessor's `chunk_created` reports:
//
//   allocator->BeginAdoption();
//   allocator->Adopt(chunk, std::move(fd), address, size, shared);
//   allocator->AllocateAt(block, size, alone);  // for each allocation
//   allocator->EndAdoption();  // releases chunks that nothing came back to
class DeviceAllocator {
 public:
  // Addresses and sizes of allocations in shared chunks are multiples of this.
  static constexpr uint64_t kAlignment = 512;  // bytes

  // Reserves addresses for three times the device's memory, for fragmentation
  // and for imported memory; takes no memory yet. Chunk sizes in `options` are
  // rounded up to Chunk::Granularity.
  static absl::StatusOr<std::unique_ptr<DeviceAllocator>> Create(
      std::shared_ptr<const cuda::Context> context, AllocatorOptions options);

  // REQUIRES: the device has finished with every allocation.
  ~DeviceAllocator();
  DeviceAllocator(const DeviceAllocator&) = delete;
  DeviceAllocator& operator=(const DeviceAllocator&) = delete;

  // Allocates memory for first use by `stream`; without a stream, only blocks
  // that no stream uses any more qualify. The bytes are not cleared. If there
  // is no memory for another chunk, blocks until all pending frees are done and
  // tries again; then uses room in any shared chunk. RESOURCE_EXHAUSTED:
  // `reserve` refused a chunk, or the device has no more memory; then the
  // message has size, free and total bytes.
  absl::StatusOr<Allocation> Allocate(uint64_t size,
                                      const cuda::Stream* stream);

  // The same in a chunk that never holds anything else, so that it can be
  // shared with others. The size is rounded up to Chunk::Granularity.
  absl::StatusOr<Allocation> AllocateAlone(uint64_t size);

  // Maps a predecessor's chunk again, with the same id and address; the address
  // range must contain it. `shared`: allocations share it. Not reported as
  // created. Fails as `reserve` or the driver. ALREADY_EXISTS: the id or the
  // addresses are taken. INVALID_ARGUMENT: `size` is 0 or not a multiple of
  // Chunk::Granularity.
  absl::Status Adopt(uint32_t chunk, UniqueFd descriptor, CUdeviceptr address,
                     uint64_t size, bool shared);
  // The same for a chunk whose memory was lost: makes a new chunk with
  // undefined bytes, and reports it as created.
  absl::Status AdoptAnew(uint32_t chunk, CUdeviceptr address, uint64_t size,
                         bool shared);
  // Between BeginAdoption and EndAdoption, empty chunks are kept, because
  // AllocateAt may still place an allocation in them.
  void BeginAdoption() { adopting_ = true; }
  // Releases every chunk without allocations.
  void EndAdoption();
  bool HasChunk(uint32_t chunk) const { return chunks_.contains(chunk); }
  // Returns the chunk, or null. Valid until the chunk's last allocation is
  // freed.
  const Chunk* FindChunk(uint32_t chunk) const {
    const auto found = chunks_.find(chunk);
    return found == chunks_.end() ? nullptr : found->second.get();
  }

  // Allocates exactly `block` of an adopted chunk. `alone`: it was made by
  // AllocateAlone, so no other allocation gets the chunk. ALREADY_EXISTS: the
  // block is taken, or does not fit the chunk. NOT_FOUND: there is no such
  // chunk, or the block is smaller than `size`.
  absl::StatusOr<Allocation> AllocateAt(const Block& block, uint64_t size,
                                        bool alone);

  // The lowest address for chunks.
  CUdeviceptr base() const { return range_->base(); }
  // The addresses for chunks and for imported memory of the device's kernels.
  const std::shared_ptr<AddressRange>& addresses() const { return range_; }

  // Denies or allows writes of the device's kernels to an allocation of
  // AllocateAlone. REQUIRES: no kernel that uses it is running.
  absl::Status SetWritable(const Allocation& allocation, bool writable);

  // Frees an allocation after the present work of `stream`. Does not wait: the
  // block is pending until a later call finds that the stream has reached the
  // free. Without a stream frees at once, which REQUIRES that the memory is not
  // in use. REQUIRES: allocated, and not freed yet.
  absl::Status Free(const Allocation& allocation, const cuda::Stream* stream);

  // Allow or revoke the use of all present and future allocations by kernels of
  // another device. All chunks change at once. RevokeAccess REQUIRES that none
  // of these kernels is running. AllowAccess stops at the first error;
  // RevokeAccess continues, and returns the first error.
  absl::Status AllowAccess(CUdevice peer);
  absl::Status RevokeAccess(CUdevice peer);

  // The figures of the last call. A finished pending free counts as pending
  // until a call notices it.
  const MemoryStatistics& statistics() const { return statistics_; }

 private:
  // A freed block that work of its stream may still use, until `done`
  // completes.
  struct PendingFree {
    Block block;
    uint64_t stream_id;
    std::unique_ptr<cuda::Event> done;
  };

  DeviceAllocator(std::shared_ptr<const cuda::Context> context,
                  AllocatorOptions options, std::shared_ptr<AddressRange> range,
                  uint64_t granularity, uint64_t total);

  // Returns a block of a pending free of the stream, of a shared chunk, or of a
  // new one, in this order. REQUIRES: `size` is a multiple of kAlignment.
  absl::StatusOr<Block> Find(uint64_t size, const cuda::Stream* stream);
  // Calls `find`. If memory has run out, releases unused chunks and calls it
  // again.
  absl::StatusOr<Block> FindOrRelease(
      absl::FunctionRef<absl::StatusOr<Block>()> find);
  // Returns the size of the block for an allocation of `size` bytes.
  uint64_t BlockBytes(uint64_t size) const;
  // Tells a driver that checks buffers that the allocation is free once the
  // stream comes to this point; null: now.
  absl::Status Withdraw(const Allocation& allocation,
                        const cuda::Stream* stream) const;
  // Makes an allocation of `size` bytes of the block.
  Allocation Use(const Block& block, uint64_t size);
  // Takes the smallest block that the stream itself has freed, if it is less
  // than about twice the size. Needs no wait: the stream orders both uses.
  std::optional<Block> TakeOwnPending(uint64_t size, uint64_t stream_id);
  // Creates a chunk and returns all of it as one block.
  absl::StatusOr<Block> AllocateChunk(uint64_t size);
  // Returns true if an allocation of this size lies in a chunk with others.
  bool IsShared(uint64_t size) const {
    return size <= options_.chunk_bytes / 2;
  }
  // Makes a shared chunk that is no larger than `size` needs, where one of
  // `chunk_bytes` was refused by options_.reserve. Returns nullopt if the
  // device refused it, or if the small one is refused, too.
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
  // True if AllocateAt has placed nothing in the chunk.
  bool IsEmpty(uint32_t adopted) const;
  // RESOURCE_EXHAUSTED: more bytes than the whole device has.
  absl::Status CheckSize(uint64_t size) const;
  absl::StatusOr<std::unique_ptr<cuda::Event>> RecordEvent(
      const cuda::Stream& stream);
  // Releases pending blocks whose streams have reached the free; checks 16 at
  // most. If the driver checks buffers, the blocks freed last stay pending.
  void Reap();
  // Blocks until every pending free is done, and releases the blocks.
  absl::Status WaitForPending();
  // True if an empty shared chunk is kept for the next small allocation.
  bool HasSpare() const;
  // False if ReleaseUnused would release nothing.
  bool HasUnused() const;
  absl::Status ReleaseUnused();
  // Returns a block to its shared chunk; releases a chunk of its own.
  void ReleaseBlock(const Block& block);
  // Releases the spare chunk if it is larger than a new one would be.
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
  uint64_t shared_bytes_ = 0;  // of these chunks
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
