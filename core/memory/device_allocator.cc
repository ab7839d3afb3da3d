// SPDX-License-Identifier: Apache-2.0
#include "core/memory/device_allocator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/result.h"

namespace holdfast::memory {
namespace {

// Completed frees that one call looks for, so that it stays short.
constexpr int kReapLimit = 16;
// Frees of small blocks that wait before a further one looks for them.
constexpr size_t kReapFrom = 16;

// Addresses per byte of device memory: room for fragmentation.
constexpr uint64_t kAddressFactor = 3;

// A shared chunk is at most this part of the others, and of the memory that the
// device has left: the bound of what its unused rest can cost.
constexpr uint64_t kGrowthPart = 8;

// If the driver checks buffers: the unused bytes behind each buffer, and the
// freed bytes that are kept out of use.
constexpr uint64_t kCheckedGap = 4096;
constexpr uint64_t kCheckedPending = uint64_t{64} << 20;

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
  options.max_chunk_bytes = std::max(
      options.chunk_bytes, RoundUp(options.max_chunk_bytes, granularity));
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
                                 std::shared_ptr<AddressRange> range,
                                 uint64_t granularity, uint64_t total)
    : context_(std::move(context)),
      options_(std::move(options)),
      range_(std::move(range)),
      granularity_(granularity),
      total_(total),
      checked_(context_->api().add_buffer != nullptr),
      next_chunk_id_(options_.first_chunk) {}

DeviceAllocator::~DeviceAllocator() {
  while (!chunks_.empty()) ReleaseChunk(chunks_.begin()->first);
}

absl::StatusOr<Allocation> DeviceAllocator::Allocate(
    uint64_t size, const cuda::Stream* stream) {
  HOLDFAST_RETURN_IF_ERROR(CheckSize(size));
  const uint64_t rounded = BlockBytes(size);
  absl::StatusOr<Block> block =
      FindOrRelease([&] { return Find(rounded, stream); });
  // A place among others is better than a refusal.
  if (absl::IsResourceExhausted(block.status())) {
    if (const auto place = shared_.Allocate(rounded)) block = *place;
  }
  if (absl::IsResourceExhausted(block.status()) && IsShared(rounded)) {
    if (const auto place = AllocateInSmallestChunk(rounded)) block = *place;
  }
  HOLDFAST_RETURN_IF_ERROR(block.status());
  return Use(*block, size);
}

uint64_t DeviceAllocator::BlockBytes(uint64_t size) const {
  return RoundUp(std::max<uint64_t>(size, 1) + (checked_ ? kCheckedGap : 0),
                 kAlignment);
}

absl::StatusOr<Allocation> DeviceAllocator::AllocateAlone(uint64_t size) {
  HOLDFAST_RETURN_IF_ERROR(CheckSize(size));
  const uint64_t rounded = RoundUp(std::max<uint64_t>(size, 1), granularity_);
  HOLDFAST_ASSIGN_OR_RETURN(
      const Block block, FindOrRelease([&] { return AllocateChunk(rounded); }));
  alone_.insert(block.span);
  return Use(block, size);
}

absl::Status DeviceAllocator::SetWritable(const Allocation& allocation,
                                          bool writable) {
  Chunk& chunk = *chunks_.at(allocation.block.span);
  const CUmemAccess_flags rights = writable ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                            : CU_MEM_ACCESS_FLAGS_PROT_READ;
  HOLDFAST_RETURN_IF_ERROR(
      chunk.SetAccess(context_->device().handle(), rights));
  for (const CUdevice peer : peers_) {
    HOLDFAST_RETURN_IF_ERROR(chunk.SetAccess(peer, rights));
  }
  return absl::OkStatus();
}

absl::StatusOr<Block> DeviceAllocator::FindOrRelease(
    absl::FunctionRef<absl::StatusOr<Block>()> find) {
  absl::StatusOr<Block> block = find();
  if (!absl::IsResourceExhausted(block.status()) || !HasUnused()) return block;
  HOLDFAST_RETURN_IF_ERROR(ReleaseUnused());
  return find();
}

Allocation DeviceAllocator::Use(const Block& block, uint64_t size) {
  statistics_.used += block.size;
  statistics_.peak_used = std::max(statistics_.peak_used, statistics_.used);
  const CUdeviceptr address = chunks_.at(block.span)->address() + block.offset;
  if (checked_) context_->api().add_buffer(address, size);
  return {address, size, block};
}

absl::StatusOr<Block> DeviceAllocator::Find(uint64_t size,
                                            const cuda::Stream* stream) {
  if (stream != nullptr && !checked_) {
    if (auto block = TakeOwnPending(size, stream->id())) return *block;
  }
  Reap();
  if (!IsShared(size)) return AllocateChunk(RoundUp(size, granularity_));
  if (auto block = shared_.Allocate(size)) return *block;
  HOLDFAST_RETURN_IF_ERROR(AllocateSharedChunk());
  return *shared_.Allocate(size);
}

// If the device itself refused the larger chunk, it is full: few small chunks
// would fit.
std::optional<Block> DeviceAllocator::AllocateInSmallestChunk(uint64_t size) {
  if (!refused_) return std::nullopt;
  const absl::StatusOr<Block> chunk =
      AllocateChunk(RoundUp(size, granularity_));
  if (!chunk.ok()) return std::nullopt;
  AddShared(chunk->span, chunk->size);
  return shared_.Allocate(size);
}

absl::Status DeviceAllocator::AllocateSharedChunk() {
  const uint64_t size = NextChunkBytes();
  absl::StatusOr<Block> chunk = AllocateChunk(size);
  if (absl::IsResourceExhausted(chunk.status()) &&
      size > options_.chunk_bytes) {
    chunk = AllocateChunk(options_.chunk_bytes);
  }
  HOLDFAST_RETURN_IF_ERROR(chunk.status());
  AddShared(chunk->span, chunk->size);
  return absl::OkStatus();
}

uint64_t DeviceAllocator::NextChunkBytes() const {
  uint64_t size =
      std::min(shared_bytes_ / kGrowthPart, options_.max_chunk_bytes);
  if (size <= options_.chunk_bytes) return options_.chunk_bytes;
  const auto memory = context_->GetMemoryInfo();
  if (!memory.ok()) return options_.chunk_bytes;
  size = std::min<uint64_t>(size, memory->free / kGrowthPart);
  return std::max(options_.chunk_bytes, size / granularity_ * granularity_);
}

// Later work of a stream may use again the memory that the same stream has
// freed, whether its work is done or not. Blocks much too large stay for
// others.
std::optional<Block> DeviceAllocator::TakeOwnPending(uint64_t size,
                                                     uint64_t stream_id) {
  auto best = pending_.end();
  for (auto it = pending_.begin(); it != pending_.end(); ++it) {
    if (it->stream_id != stream_id || it->block.size < size ||
        it->block.size / 2 > size || alone_.contains(it->block.span)) {
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
  if (options_.chunk_created) options_.chunk_created(*chunk);
  Add(std::move(chunk));
  return block;
}

void DeviceAllocator::Add(std::unique_ptr<Chunk> chunk) {
  statistics_.reserved += chunk->size();
  ++statistics_.chunks;
  const uint32_t id = chunk->id();
  chunks_.emplace(id, std::move(chunk));
}

absl::Status DeviceAllocator::CheckAdoption(uint32_t id, uint64_t size) const {
  if (id == 0 || HasChunk(id)) {
    return absl::AlreadyExistsError(absl::StrCat("chunk ", id, " is there"));
  }
  if (size == 0 || size % granularity_ != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a chunk of ", size, " bytes, which is no multiple of ", granularity_));
  }
  return absl::OkStatus();
}

void DeviceAllocator::AddAdopted(std::unique_ptr<Chunk> chunk, bool shared) {
  const uint32_t id = chunk->id();
  const uint64_t size = chunk->size();
  next_chunk_id_ = std::max(next_chunk_id_, id + 1);
  Add(std::move(chunk));
  if (shared) AddShared(id, size);
}

absl::Status DeviceAllocator::Adopt(uint32_t id, UniqueFd descriptor,
                                    CUdeviceptr address, uint64_t size,
                                    bool shared) {
  HOLDFAST_RETURN_IF_ERROR(CheckAdoption(id, size));
  HOLDFAST_ASSIGN_OR_RETURN(auto chunk, Reserved(size, [&] {
                              return Chunk::Import(id, context_, *range_,
                                                   std::move(descriptor),
                                                   address, size);
                            }));
  AddAdopted(std::move(chunk), shared);
  return absl::OkStatus();
}

absl::Status DeviceAllocator::AdoptAnew(uint32_t id, CUdeviceptr address,
                                        uint64_t size, bool shared) {
  HOLDFAST_RETURN_IF_ERROR(CheckAdoption(id, size));
  HOLDFAST_ASSIGN_OR_RETURN(auto chunk, Reserved(size, [&] {
                              return Chunk::CreateAt(id, context_, *range_,
                                                     address, size);
                            }));
  if (options_.chunk_created) options_.chunk_created(*chunk);
  AddAdopted(std::move(chunk), shared);
  return absl::OkStatus();
}

void DeviceAllocator::AddShared(uint32_t chunk, uint64_t size) {
  shared_.AddSpan(chunk, size);
  shared_chunks_.insert(chunk);
  shared_bytes_ += size;
}

bool DeviceAllocator::IsEmpty(uint32_t adopted) const {
  return shared_chunks_.contains(adopted) ? shared_.IsFree(adopted)
                                          : !whole_.contains(adopted);
}

void DeviceAllocator::EndAdoption() {
  adopting_ = false;
  std::vector<uint32_t> empty;
  for (const auto& [id, chunk] : chunks_) {
    if (IsEmpty(id)) empty.push_back(id);
  }
  for (const uint32_t id : empty) {
    shared_chunks_.contains(id) ? ReleaseShared(id) : ReleaseChunk(id);
  }
}

absl::StatusOr<Allocation> DeviceAllocator::AllocateAt(const Block& block,
                                                       uint64_t size,
                                                       bool alone) {
  const auto found = chunks_.find(block.span);
  if (found == chunks_.end() || size > block.size || block.size == 0) {
    return absl::NotFoundError(
        absl::StrCat("no place for ", size, " bytes in chunk ", block.span));
  }
  const Chunk& chunk = *found->second;
  const bool shared = shared_chunks_.contains(block.span);
  const bool placed = shared
                          ? shared_.AllocateAt(block)
                          : block.offset == 0 && block.size == chunk.size() &&
                                whole_.insert(block.span).second;
  if (!placed) {
    return absl::AlreadyExistsError(
        absl::StrCat(block.size, " bytes at ", block.offset, " of chunk ",
                     block.span, " are in use or outside"));
  }
  if (alone) alone_.insert(block.span);
  return Use(block, size);
}

absl::StatusOr<std::unique_ptr<Chunk>> DeviceAllocator::CreateReserved(
    uint64_t size) {
  return Reserved(size, [&] {
    return Chunk::Create(next_chunk_id_, context_, *range_, size);
  });
}

absl::StatusOr<std::unique_ptr<Chunk>> DeviceAllocator::Reserved(
    uint64_t size,
    absl::FunctionRef<absl::StatusOr<std::unique_ptr<Chunk>>()> make) {
  absl::Status status;
  if (options_.reserve) status = options_.reserve(size);
  refused_ = !status.ok();
  if (refused_) return status;
  auto chunk = make();
  status = chunk.status();
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
    if (checked_) HOLDFAST_RETURN_IF_ERROR(Withdraw(allocation, nullptr));
    statistics_.used -= block.size;
    ReleaseBlock(block);
    return absl::OkStatus();
  }
  HOLDFAST_ASSIGN_OR_RETURN(auto done, TakeEvent());
  // Without an event to mark the end, the buffer would be withdrawn and stay
  // allocated.
  if (checked_) HOLDFAST_RETURN_IF_ERROR(Withdraw(allocation, stream));
  HOLDFAST_RETURN_IF_ERROR(done->Record(*stream));
  pending_.push_back({block, stream->id(), std::move(done)});
  statistics_.used -= block.size;
  statistics_.pending += block.size;
  // To ask for an event takes longer than all the rest. Small blocks are
  // mostly used again by the same stream, which need not ask.
  const bool shared = shared_chunks_.contains(block.span);
  if (!shared || pending_.size() >= kReapFrom) Reap();
  return absl::OkStatus();
}

absl::Status DeviceAllocator::Withdraw(const Allocation& allocation,
                                       const cuda::Stream* stream) const {
  const cuda::DriverApi& api = context_->api();
  auto* address = reinterpret_cast<void*>(allocation.address);
  if (stream == nullptr) {
    api.remove_buffer(address);
    return absl::OkStatus();
  }
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api, cuLaunchHostFunc(stream->handle(), api.remove_buffer, address));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<cuda::Event>> DeviceAllocator::TakeEvent() {
  if (spare_events_.empty()) return cuda::Event::Create(context_, {});
  std::unique_ptr<cuda::Event> event = std::move(spare_events_.back());
  spare_events_.pop_back();
  return event;
}

// Streams finish in any order, so one that is not done hides no other.
void DeviceAllocator::Reap() {
  const uint64_t kept = checked_ ? kCheckedPending : 0;
  int looked = 0;
  for (auto it = pending_.begin();
       it != pending_.end() && looked < kReapLimit &&
       statistics_.pending > kept;
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

bool DeviceAllocator::HasSpare() const {
  return spare_chunk_ != 0 && shared_.IsFree(spare_chunk_);
}

bool DeviceAllocator::HasUnused() const {
  return !pending_.empty() || HasSpare();
}

// Freed memory that the device may still use, and the empty chunk.
absl::Status DeviceAllocator::ReleaseUnused() {
  HOLDFAST_RETURN_IF_ERROR(WaitForPending());
  if (HasSpare()) ReleaseShared(std::exchange(spare_chunk_, 0));
  return absl::OkStatus();
}

void DeviceAllocator::ReleaseBlock(const Block& block) {
  const bool shared = shared_chunks_.contains(block.span);
  if (shared) shared_.Free(block);
  if (adopting_) {
    if (!shared) whole_.erase(block.span);
    return;
  }
  if (!shared) return ReleaseChunk(block.span);
  if (!shared_.IsFree(block.span)) return;
  if (HasSpare() && spare_chunk_ != block.span) {
    ReleaseShared(block.span);
  } else {
    spare_chunk_ = block.span;
  }
  TrimSpare();
}

// One empty shared chunk is kept, so that a program that allocates and frees
// in turn does not make and release a chunk each time; but none that is larger
// than one that would be made now.
void DeviceAllocator::TrimSpare() {
  if (!HasSpare()) return;
  const uint64_t size = chunks_.at(spare_chunk_)->size();
  const uint64_t others = shared_bytes_ - size;
  if (size <= std::max(options_.chunk_bytes, others / kGrowthPart)) return;
  ReleaseShared(std::exchange(spare_chunk_, 0));
}

void DeviceAllocator::ReleaseShared(uint32_t id) {
  shared_.RemoveSpan(id);
  shared_chunks_.erase(id);
  shared_bytes_ -= chunks_.at(id)->size();
  ReleaseChunk(id);
}

void DeviceAllocator::ReleaseChunk(uint32_t id) {
  const auto it = chunks_.find(id);
  if (options_.chunk_released) options_.chunk_released(*it->second);
  const uint64_t size = it->second->size();
  statistics_.reserved -= size;
  --statistics_.chunks;
  alone_.erase(id);
  whole_.erase(id);
  chunks_.erase(it);
  if (options_.release) options_.release(size);
}

}  // namespace holdfast::memory
