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

// Where an allocation lies. Enough to make it again in a successor process:
// chunk ids are unique in an allocator's life.
struct Allocation {
  CUdeviceptr address = 0;
  uint64_t size = 0;  // as asked for; 0 is allowed and has an address
  Block block;        // block.span is the chunk's id
};

// Bytes, but for `chunks`.
struct MemoryStatistics {
  uint64_t used = 0;       // in live allocations, rounded
  uint64_t peak_used = 0;  // the most that `used` has been
  uint64_t pending = 0;    // freed, perhaps still in use by the device
  uint64_t reserved = 0;   // in chunks
  uint64_t chunks = 0;
};

struct AllocatorOptions {
  // Small allocations share chunks of at least this size; those over half of
  // it have a chunk of their own.
  uint64_t chunk_bytes = uint64_t{32} << 20;
  // Shared chunks grow with what the session holds in them, up to this size, so
  // that there are few to map again after a fault.
  uint64_t max_chunk_bytes = uint64_t{1} << 30;

  // Device addresses to ask for; see AddressRange.
  CUdeviceptr address_hint = 0;

  // The least id of a chunk that is made. A successor's is larger than those of
  // processes before it, since others may still hold a chunk that they made and
  // that the successor has not adopted.
  uint32_t first_chunk = 1;

  // Called when a chunk exists, and before one is released: the moment to hand
  // a copy of its descriptor to whoever keeps the bytes alive.
  std::function<void(const Chunk&)> chunk_created;
  std::function<void(const Chunk&)> chunk_released;

  // Asked before a chunk of so many bytes is made; an error refuses it. The
  // bytes are released when the chunk is gone, or could not be made. This is
  // where a limit is known, if there is one; none is known here.
  std::function<absl::Status(uint64_t bytes)> reserve;
  std::function<void(uint64_t bytes)> release;
};

// A session's memory on one device, cut from chunks. Frees are ordered by
// streams: a freed block is reusable at once by later work of the same stream,
// and by other streams when the freeing stream got there.
//
// Not thread-safe: belongs to the thread that gives the device its work.
//
// A session's executor has one for each device. It restores a predecessor's
// memory like this, with what the predecessor reported by `chunk_created`:
//
//   allocator->BeginAdoption();
//   allocator->Adopt(chunk, std::move(fd), address, size, shared);
//   allocator->AllocateAt(block, size, alone);  // for each allocation
//   allocator->EndAdoption();  // releases chunks that nothing came back to
class DeviceAllocator {
 public:
  // Addresses and sizes of allocations in shared chunks are multiples of this.
  static constexpr uint64_t kAlignment = 512;  // bytes

  // Reserves addresses for three times the device's memory, so that neither
  // fragmentation of addresses nor memory of others that is mapped there, too,
  // is a limit; takes no memory yet. Sizes of chunks in `options`
  // are rounded up to Chunk::Granularity.
  static absl::StatusOr<std::unique_ptr<DeviceAllocator>> Create(
      std::shared_ptr<const cuda::Context> context, AllocatorOptions options);

  // The device must have finished with every allocation.
  ~DeviceAllocator();
  DeviceAllocator(const DeviceAllocator&) = delete;
  DeviceAllocator& operator=(const DeviceAllocator&) = delete;

  // `stream` is the one that will use the memory first; without one only
  // blocks that no stream uses any more qualify. The bytes are not cleared.
  // Where there is no memory for another chunk, room in any shared one will do.
  // RESOURCE_EXHAUSTED: `reserve` refused a chunk, or the device has no more;
  // the latter names size, free and total bytes. Waits for pending frees only
  // where memory has run out.
  absl::StatusOr<Allocation> Allocate(uint64_t size,
                                      const cuda::Stream* stream);

  // The same, but in a chunk that nothing else lies in, now or later, so that
  // it can be shown to others. Its size is rounded up to Chunk::Granularity.
  absl::StatusOr<Allocation> AllocateAlone(uint64_t size);

  // For the successor of a process whose allocator made `chunk`: maps its
  // memory again under the same id and at the same address, which the address
  // range has to contain. `shared`: allocations share it. The chunk is not
  // reported as created. As `reserve`; or the driver's refusal. ALREADY_EXISTS:
  // the id or the addresses are taken; INVALID_ARGUMENT: `size` is 0 or no
  // multiple of Chunk::Granularity.
  absl::Status Adopt(uint32_t chunk, UniqueFd descriptor, CUdeviceptr address,
                     uint64_t size, bool shared);
  // The same for a chunk whose memory is gone: makes it anew, with undefined
  // bytes, and reports it as created.
  absl::Status AdoptAnew(uint32_t chunk, CUdeviceptr address, uint64_t size,
                         bool shared);
  // From BeginAdoption to EndAdoption chunks are adopted, and one that nothing
  // lies in is kept: an allocation may still come back to it.
  void BeginAdoption() { adopting_ = true; }
  // Releases every chunk in which AllocateAt has placed nothing, or all was
  // freed.
  void EndAdoption();
  bool HasChunk(uint32_t chunk) const { return chunks_.contains(chunk); }
  // Null: there is none of this id. Stays valid until the chunk's last
  // allocation is freed.
  const Chunk* FindChunk(uint32_t chunk) const {
    const auto found = chunks_.find(chunk);
    return found == chunks_.end() ? nullptr : found->second.get();
  }

  // The allocation that lay at `block` of an adopted chunk. ALREADY_EXISTS:
  // another one lies there; NOT_FOUND: there is no such place. `alone`: as of
  // AllocateAlone, so that no other allocation gets the place.
  absl::StatusOr<Allocation> AllocateAt(const Block& block, uint64_t size,
                                        bool alone);

  // The first of the addresses that chunks are mapped at.
  CUdeviceptr base() const { return range_->base(); }
  // The addresses that chunks are mapped at, and memory of others that the
  // device's kernels use.
  const std::shared_ptr<AddressRange>& addresses() const { return range_; }

  // Kernels of the device may no longer write to an allocation of
  // AllocateAlone, or may again. REQUIRES: none that uses it is running.
  absl::Status SetWritable(const Allocation& allocation, bool writable);

  // After what `stream` has been given so far; without a stream at once, which
  // REQUIRES that nothing uses the memory. REQUIRES: allocated, not yet freed.
  // With a stream it does not wait: the block is pending until a later call
  // finds that the stream got there.
  absl::Status Free(const Allocation& allocation, const cuda::Stream* stream);

  // Kernels of another device may use all that is and will be allocated here,
  // or may not any more, which REQUIRES that none that does is running. Both
  // change all chunks at once. AllowAccess stops at the first error,
  // RevokeAccess goes on and returns the first.
  absl::Status AllowAccess(CUdevice peer);
  absl::Status RevokeAccess(CUdevice peer);

  // Up to date as of the last call; a pending free that is done counts as
  // pending until a call looks for it.
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
  // `find` looks for a block; once more, if memory has run out, when what is
  // unused has been released.
  absl::StatusOr<Block> FindOrRelease(
      absl::FunctionRef<absl::StatusOr<Block>()> find);
  // The block is taken for an allocation of so many bytes.
  Allocation Use(const Block& block, uint64_t size);
  // The smallest block that the stream itself has freed, if it is less than
  // about twice as large as asked for. No wait is needed: the stream orders
  // both uses.
  std::optional<Block> TakeOwnPending(uint64_t size, uint64_t stream_id);
  // Creates a chunk and returns all of it as one block.
  absl::StatusOr<Block> AllocateChunk(uint64_t size);
  // A large one, if memory is plentiful; else a small one.
  absl::Status AllocateSharedChunk();
  // Grows with the bytes in shared chunks: an eighth of them, at most an eighth
  // of the free memory, within the options' bounds.
  uint64_t NextChunkBytes() const;
  absl::StatusOr<std::unique_ptr<Chunk>> CreateReserved(uint64_t size);
  // `make` makes a chunk of so many bytes, which are reserved first.
  absl::StatusOr<std::unique_ptr<Chunk>> Reserved(
      uint64_t size,
      absl::FunctionRef<absl::StatusOr<std::unique_ptr<Chunk>>()> make);
  // INVALID_ARGUMENT or ALREADY_EXISTS, as Adopt says.
  absl::Status CheckAdoption(uint32_t chunk, uint64_t size) const;
  void AddAdopted(std::unique_ptr<Chunk> chunk, bool shared);
  void Add(std::unique_ptr<Chunk> chunk);
  void AddShared(uint32_t chunk, uint64_t size);
  // No allocation has come back to it.
  bool IsEmpty(uint32_t adopted) const;
  // RESOURCE_EXHAUSTED: more bytes than the device has at all.
  absl::Status CheckSize(uint64_t size) const;
  absl::StatusOr<std::unique_ptr<cuda::Event>> RecordEvent(
      const cuda::Stream& stream);
  // Releases blocks whose streams have got there; looks at 16 at most.
  void Reap();
  // Blocks until every pending free is done, and releases the blocks.
  absl::Status WaitForPending();
  // There is an empty shared chunk, kept for the next small allocation.
  bool HasSpare() const;
  // ReleaseUnused would release something, perhaps.
  bool HasUnused() const;
  absl::Status ReleaseUnused();
  // Returns a block to its shared chunk, or releases the chunk that it is.
  void ReleaseBlock(const Block& block);
  // Releases the spare chunk if it is larger than one that would be made now.
  void TrimSpare();
  // REQUIRES: nothing lies in it.
  void ReleaseShared(uint32_t id);
  // Reports it as released first, then gives its bytes back to `release`.
  void ReleaseChunk(uint32_t id);

  const std::shared_ptr<const cuda::Context> context_;
  const AllocatorOptions options_;
  const std::shared_ptr<AddressRange> range_;
  const uint64_t granularity_;
  const uint64_t total_;  // bytes of the device

  std::map<uint32_t, std::unique_ptr<Chunk>> chunks_;
  std::set<CUdevice> peers_;  // devices that have access
  uint32_t next_chunk_id_;
  BlockIndex shared_;  // free blocks of the chunks that allocations share
  std::set<uint32_t> shared_chunks_;
  uint64_t shared_bytes_ = 0;  // of these chunks
  std::set<uint32_t> alone_;   // chunks that are never used again
  std::set<uint32_t> whole_;   // adopted chunks of one allocation that has come
  bool adopting_ = false;
  uint32_t spare_chunk_ = 0;  // a shared chunk that was empty when last seen
  std::list<PendingFree> pending_;
  std::vector<std::unique_ptr<cuda::Event>> spare_events_;
  MemoryStatistics statistics_;
};

}  // namespace holdfast::memory

#endif  // HOLDFAST_CORE_MEMORY_DEVICE_ALLOCATOR_H_
