// SPDX-License-Identifier: Apache-2.0
#include "server/executor/resources/session_devices.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/cuda/result.h"

namespace holdfast::executor {
namespace {

// Each device's memory is asked for at a place of its own, 1 TiB after the
// other.
constexpr CUdeviceptr kAddressHint = 0x6000'0000'0000;
constexpr CUdeviceptr kAddressStride = 0x100'0000'0000;

// Chunks and their bytes are charged to the account, and the bytes thereby to
// the supervisor's ledger.
void ChargeChunks(std::shared_ptr<Quota> chunks, std::shared_ptr<Quota> memory,
                  memory::AllocatorOptions* allocator) {
  struct Held {
    Charge chunks;
    Charge bytes;
  };
  const auto held = std::make_shared<Held>();
  allocator->reserve = [chunks, memory, held](uint64_t bytes) -> absl::Status {
    HOLDFAST_ASSIGN_OR_RETURN(Charge chunk, chunks->Take(1));
    HOLDFAST_ASSIGN_OR_RETURN(Charge charge, memory->Take(bytes));
    held->chunks.Add(std::move(chunk));
    held->bytes.Add(std::move(charge));
    return absl::OkStatus();
  };
  allocator->release = [held](uint64_t bytes) {
    held->chunks.Return(1);
    held->bytes.Return(bytes);
  };
}

}  // namespace

SessionDevices::SessionDevices(Options options)
    : options_(std::move(options)),
      copiers_(options_.account->staging_memory()) {}

absl::Status SessionDevices::CheckMayUse(uint32_t ordinal) const {
  if (options_.devices.empty() ||
      std::find(options_.devices.begin(), options_.devices.end(), ordinal) !=
          options_.devices.end()) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "device ", ordinal, " is not one of this session's devices, which are ",
      absl::StrJoin(options_.devices, ", ")));
}

memory::AllocatorOptions SessionDevices::AllocatorOptionsOf(uint32_t ordinal) {
  memory::AllocatorOptions allocator;
  ChargeChunks(options_.account->chunks(),
               options_.account->reserved_memory(ordinal), &allocator);
  allocator.address_hint = kAddressHint + ordinal * kAddressStride;
  if (inheritance_ != nullptr && inheritance_->bases.contains(ordinal)) {
    allocator.address_hint = inheritance_->bases.at(ordinal);
  }
  allocator.first_chunk = options_.first_chunk;
  if (options_.chunk_created) {
    allocator.chunk_created = [this, ordinal](const memory::Chunk& chunk) {
      options_.chunk_created(ordinal, chunk);
    };
    allocator.chunk_released = [this, ordinal](const memory::Chunk& chunk) {
      options_.chunk_released(ordinal, chunk);
    };
  }
  return allocator;
}

absl::StatusOr<DeviceState*> SessionDevices::Open(uint32_t ordinal) {
  const auto it = devices_.find(ordinal);
  if (it != devices_.end()) return &it->second;
  HOLDFAST_RETURN_IF_ERROR(CheckMayUse(ordinal));
  HOLDFAST_ASSIGN_OR_RETURN(
      const cuda::Device device,
      cuda::Device::Get(*options_.api, options_.placement.InDriver(ordinal)));
  DeviceState state;
  HOLDFAST_ASSIGN_OR_RETURN(state.context,
                            cuda::Context::RetainPrimary(device));
  HOLDFAST_ASSIGN_OR_RETURN(state.allocator,
                            memory::DeviceAllocator::Create(
                                state.context, AllocatorOptionsOf(ordinal)));
  HOLDFAST_ASSIGN_OR_RETURN(state.reaper,
                            cuda::Stream::Create(state.context, {}));
  if (inheritance_ != nullptr) state.allocator->BeginAdoption();
  if (options_.device_opened) {
    options_.device_opened(ordinal, state.allocator->base());
  }
  if (first_context_ == nullptr) {
    first_context_ = state.context;
    MakeCurrent();
  }
  return &devices_.emplace(ordinal, std::move(state)).first->second;
}

void SessionDevices::MakeCurrent() const {
  CUcontext current = nullptr;
  if (first_context_ == nullptr ||
      (options_.api->cuCtxGetCurrent(&current) == CUDA_SUCCESS &&
       current == first_context_->handle())) {
    return;
  }
  cuda::LogIfFailed(options_.api->cuCtxSetCurrent(first_context_->handle()),
                    "cuCtxSetCurrent");
}

void SessionDevices::Synchronize() const {
  for (const auto& [ordinal, device] : devices_) {
    const absl::Status status = device.context->Synchronize();
    if (!status.ok()) {
      LogWarning("device ", ordinal,
                 " at the session's end: ", status.message());
    }
  }
}

absl::StatusOr<const cuda::Stream*> SessionDevices::HostStream(
    uint32_t ordinal) {
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device, Open(ordinal));
  if (device->host == nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(device->host,
                              cuda::Stream::Create(device->context, {}));
  }
  return device->host.get();
}

absl::StatusOr<memory::Allocation> SessionDevices::Allocate(
    uint64_t handle, uint32_t ordinal, uint64_t size,
    const cuda::Stream* stream, bool alone) {
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device, Open(ordinal));
  if (inheritance_ != nullptr) [[unlikely]] {
    return AllocateInherited(*device, handle, ordinal, size);
  }
  return alone ? device->allocator->AllocateAlone(size)
               : device->allocator->Allocate(size, stream);
}

absl::Status SessionDevices::Adopt(DeviceState& device,
                                   const internal::Placement& placement) {
  const auto found = inheritance_->chunks.find(placement.chunk());
  if (found == inheritance_->chunks.end()) return absl::OkStatus();
  Inheritance::Chunk chunk = std::move(found->second);
  inheritance_->chunks.erase(found);
  if (chunk.place.read_only())
    inheritance_->read_only.insert(placement.chunk());
  const auto id = static_cast<uint32_t>(placement.chunk());
  const uint64_t size = chunk.place.size();
  const bool shared = placement.size() != size;
  if (!chunk.place.saved()) {
    return device.allocator->Adopt(id, std::move(chunk.descriptor),
                                   chunk.place.address(), size, shared);
  }
  HOLDFAST_RETURN_IF_ERROR(
      device.allocator->AdoptAnew(id, chunk.place.address(), size, shared));
  HOLDFAST_ASSIGN_OR_RETURN(MemoryCopier * copier,
                            copiers_.For(device.context));
  return copier->Load({chunk.place.address(), size},
                      {chunk.descriptor.get(), chunk.place.saved_offset()});
}

absl::StatusOr<memory::Allocation> SessionDevices::AllocateInherited(
    DeviceState& device, uint64_t handle, uint32_t ordinal, uint64_t size) {
  const internal::Placement* placement = inheritance_->PlacementOf(handle);
  if (placement == nullptr || placement->chunk() >> 32 != ordinal) {
    return absl::DataLossError("the session's journal has no place for it");
  }
  HOLDFAST_RETURN_IF_ERROR(Adopt(device, *placement));
  memory::DeviceAllocator& allocator = *device.allocator;
  HOLDFAST_ASSIGN_OR_RETURN(
      const memory::Allocation allocation,
      allocator.AllocateAt({static_cast<uint32_t>(placement->chunk()),
                            placement->offset(), placement->size()},
                           size, placement->alone()));
  if (inheritance_->read_only.contains(placement->chunk())) {
    HOLDFAST_RETURN_IF_ERROR(allocator.SetWritable(allocation, false));
  }
  return allocation;
}

void SessionDevices::EndRestore() {
  inheritance_ = nullptr;
  copiers_.Clear();
  for (auto& [ordinal, device] : devices_) device.allocator->EndAdoption();
}

}  // namespace holdfast::executor
