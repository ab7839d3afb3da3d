// SPDX-License-Identifier: Apache-2.0
#include "core/memory/device_allocator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast::memory {
namespace {

// Completed frees that one call looks for, so that it stays short.
constexpr int kReapLimit = 16;
// Frees of small blocks that wait before a further one looks for them.
constexpr size_t kReapFrom = 16;

// Addresses per byte of device memory: room for fragmentation.
constexpr uint64_t kAddressFactor = 2;

uint64_t RoundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceAllocator>> DeviceAllocator::Create(
    std::shared_ptr<const cuda::Context> context, AllocatorOptions options) {
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t total,
                            context->device().TotalMemory());
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t granularity,
                            Chunk::Granularity(*context));
  options.chunk_bytes = RoundUp(options.chunk_bytes, granularity);
  const uint64_t addresses =
      RoundUp(kAddressFactor * total + options.chunk_bytes, granularity);
  HOLDFAST_ASSIGN_OR_RETURN(
      auto range,
      AddressRange::Reserve(context, addresses, options.address_hint));
  return std::unique_ptr<DeviceAllocator>(
      new DeviceAllocator(std::move(context), std::move(options),
                          std::move(range), granularity, total));
}

DeviceAllocator::DeviceAllocator(std::shared_ptr<const cuda::Context> context,
                                 AllocatorOptions options,
                                 std::unique_ptr<AddressRange> range,
                                 uint64_t granularity, uint64_t total)
    : context_(std::move(context)),
      options_(std::move(options)),
      range_(std::move(range)),
      granularity_(granularity),
      total_(total) {}

DeviceAllocator::~DeviceAllocator() {
  while (!chunks_.empty()) ReleaseChunk(chunks_.begin()->first);
}

absl::StatusOr<Allocation> DeviceAllocator::Allocate(
    uint64_t size, const cuda::Stream* stream) {
  HOLDFAST_RETURN_IF_ERROR(CheckSize(size));
  const uint64_t rounded = RoundUp(std::max<uint64_t>(size, 1), kAlignment);
  absl::StatusOr<Block> block = Find(rounded, stream);
  if (absl::IsResourceExhausted(block.status()) && HasUnused()) {
    HOLDFAST_RETURN_IF_ERROR(ReleaseUnused());
    block = Find(rounded, stream);
  }
  HOLDFAST_RETURN_IF_ERROR(block.status());
  statistics_.used += block->size;
  statistics_.peak_used = std::max(statistics_.peak_used, statistics_.used);
  const Chunk& chunk = *chunks_.at(block->span);
  return Allocation{chunk.address() + block->offset, size, *block};
}

absl::StatusOr<Block> DeviceAllocator::Find(uint64_t size,
                                            const cuda::Stream* stream) {
  if (stream != nullptr) {
    if (auto block = TakeOwnPending(size, stream->id())) return *block;
  }
  Reap();
  const bool shared = size <= options_.chunk_bytes / 2;
  if (!shared) return AllocateChunk(RoundUp(size, granularity_));
  if (auto block = shared_.Allocate(size)) return *block;
  HOLDFAST_ASSIGN_OR_RETURN(const Block chunk,
                            AllocateChunk(options_.chunk_bytes));
  shared_.AddSpan(chunk.span, chunk.size);
  shared_chunks_.insert(chunk.span);
  return *shared_.Allocate(size);
}

// What the same stream has freed may be used again by its later work, done or
// not. Blocks much too large stay for others.
std::optional<Block> DeviceAllocator::TakeOwnPending(uint64_t size,
                                                     uint64_t stream_id) {
  auto best = pending_.end();
  for (auto it = pending_.begin(); it != pending_.end(); ++it) {
    if (it->stream_id != stream_id || it->block.size < size ||
        it->block.size / 2 > size) {
      continue;
    }
    if (best == pending_.end() || it->block.size < best->block.size) best = it;
  }
  if (best == pending_.end()) return std::nullopt;
  const Block block = best->block;
  spare_events_.push_back(std::move(best->done));
  pending_.erase(best);
  statistics_.pending -= block.size;
  return block;
}

absl::StatusOr<Block> DeviceAllocator::AllocateChunk(uint64_t size) {
  HOLDFAST_ASSIGN_OR_RETURN(auto chunk, CreateReserved(size));
  ++next_chunk_id_;
  const Block block{chunk->id(), 0, size};
  statistics_.reserved += size;
  ++statistics_.chunks;
  if (options_.chunk_created) options_.chunk_created(*chunk);
  chunks_.emplace(block.span, std::move(chunk));
  return block;
}

absl::StatusOr<std::unique_ptr<Chunk>> DeviceAllocator::CreateReserved(
    uint64_t size) {
  if (options_.reserve) HOLDFAST_RETURN_IF_ERROR(options_.reserve(size));
  auto chunk = Chunk::Create(next_chunk_id_, context_, *range_, size);
  absl::Status status = chunk.status();
  for (const CUdevice peer : peers_) {
    if (!status.ok()) break;
    status = (*chunk)->SetAccess(peer, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  }
  if (status.ok()) return chunk;
  if (chunk.ok()) chunk->reset();
  if (options_.release) options_.release(size);
  return status;
}

absl::Status DeviceAllocator::AllowAccess(CUdevice peer) {
  for (const auto& [id, chunk] : chunks_) {
    HOLDFAST_RETURN_IF_ERROR(
        chunk->SetAccess(peer, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  }
  peers_.insert(peer);
  return absl::OkStatus();
}

absl::Status DeviceAllocator::RevokeAccess(CUdevice peer) {
  peers_.erase(peer);
  absl::Status status;
  for (const auto& [id, chunk] : chunks_) {
    status.Update(chunk->SetAccess(peer, CU_MEM_ACCESS_FLAGS_PROT_NONE));
  }
  return status;
}

absl::Status DeviceAllocator::CheckSize(uint64_t size) const {
  if (size <= total_) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(const auto info, context_->GetMemoryInfo());
  return absl::ResourceExhaustedError(absl::StrCat(
      size, " bytes of memory of device ", context_->device().ordinal(),
      ": it has ", info.total, " bytes, of which ", info.free, " are free"));
}

absl::Status DeviceAllocator::Free(const Allocation& allocation,
                                   const cuda::Stream* stream) {
  const Block& block = allocation.block;
  if (stream == nullptr) {
    statistics_.used -= block.size;
    ReleaseBlock(block);
    return absl::OkStatus();
  }
  HOLDFAST_ASSIGN_OR_RETURN(auto done, RecordEvent(*stream));
  pending_.push_back({block, stream->id(), std::move(done)});
  statistics_.used -= block.size;
  statistics_.pending += block.size;
  // To ask for an event takes longer than all the rest. Small blocks are
  // mostly used again by the same stream, which need not ask.
  const bool shared = shared_chunks_.contains(block.span);
  if (!shared || pending_.size() >= kReapFrom) Reap();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<cuda::Event>> DeviceAllocator::RecordEvent(
    const cuda::Stream& stream) {
  std::unique_ptr<cuda::Event> event;
  if (spare_events_.empty()) {
    HOLDFAST_ASSIGN_OR_RETURN(event, cuda::Event::Create(context_, {}));
  } else {
    event = std::move(spare_events_.back());
    spare_events_.pop_back();
  }
  HOLDFAST_RETURN_IF_ERROR(event->Record(stream));
  return event;
}

// Streams finish in any order, so one that is not done hides no other.
void DeviceAllocator::Reap() {
  int looked = 0;
  for (auto it = pending_.begin(); it != pending_.end() && looked < kReapLimit;
       ++looked) {
    const absl::StatusOr<bool> done = it->done->Query();
    if (!done.ok() || !*done) {
      ++it;
      continue;
    }
    statistics_.pending -= it->block.size;
    ReleaseBlock(it->block);
    spare_events_.push_back(std::move(it->done));
    it = pending_.erase(it);
  }
}

absl::Status DeviceAllocator::WaitForPending() {
  while (!pending_.empty()) {
    PendingFree& oldest = pending_.front();
    HOLDFAST_RETURN_IF_ERROR(oldest.done->Synchronize());
    statistics_.pending -= oldest.block.size;
    ReleaseBlock(oldest.block);
    spare_events_.push_back(std::move(oldest.done));
    pending_.pop_front();
  }
  return absl::OkStatus();
}

bool DeviceAllocator::HasUnused() const {
  return !pending_.empty() ||
         (spare_chunk_ != 0 && shared_.IsFree(spare_chunk_));
}

// Freed memory that the device may still use, and the empty chunk.
absl::Status DeviceAllocator::ReleaseUnused() {
  HOLDFAST_RETURN_IF_ERROR(WaitForPending());
  if (spare_chunk_ == 0 || !shared_.IsFree(spare_chunk_)) {
    return absl::OkStatus();
  }
  const uint32_t spare = std::exchange(spare_chunk_, 0);
  shared_.RemoveSpan(spare);
  shared_chunks_.erase(spare);
  ReleaseChunk(spare);
  return absl::OkStatus();
}

// One empty shared chunk is kept, so that a program that allocates and frees
// in turn does not make and release a chunk each time.
void DeviceAllocator::ReleaseBlock(const Block& block) {
  if (!shared_chunks_.contains(block.span)) {
    ReleaseChunk(block.span);
    return;
  }
  shared_.Free(block);
  if (!shared_.IsFree(block.span)) return;
  if (spare_chunk_ != 0 && spare_chunk_ != block.span &&
      shared_.IsFree(spare_chunk_)) {
    shared_.RemoveSpan(block.span);
    shared_chunks_.erase(block.span);
    ReleaseChunk(block.span);
    return;
  }
  spare_chunk_ = block.span;
}

void DeviceAllocator::ReleaseChunk(uint32_t id) {
  const auto it = chunks_.find(id);
  if (options_.chunk_released) options_.chunk_released(*it->second);
  const uint64_t size = it->second->size();
  statistics_.reserved -= size;
  --statistics_.chunks;
  chunks_.erase(it);
  if (options_.release) options_.release(size);
}

}  // namespace holdfast::memory
