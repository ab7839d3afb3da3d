// SPDX-License-Identifier: Apache-2.0
#include "server/executor/resources.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/cuda/result.h"
#include "proto/protocol_limits.h"

namespace holdfast::executor {
namespace {

constexpr size_t kInlineBlockBytes = kMaxInlineBytes;
constexpr size_t kMaxInlineBlocks = 256;
constexpr size_t kMaxTransferBlocks = 64;
constexpr size_t kMaxTransferPlaces = 32;
static_assert(kInlineBlockBytes * kMaxInlineBlocks +
                  kMaxChunkBytes * kMaxTransferBlocks <=
              Account::kMaxStagingBytes);

// Each device's memory is asked for at a place of its own.
constexpr CUdeviceptr kAddressHint = 0x6000'0000'0000;
constexpr CUdeviceptr kAddressStride = 0x80'0000'0000;

template <typename T>
HandleTable<T> Table(HandleKind kind, const ResourceOptions& options) {
  return HandleTable<T>(kind, options.account->handles(kind));
}

// Chunks are charged to the account and thereby to the supervisor's ledger.
void ChargeChunks(std::shared_ptr<Quota> quota,
                  memory::AllocatorOptions* allocator) {
  auto held = std::make_shared<Charge>();
  allocator->reserve = [quota, held](uint64_t bytes) -> absl::Status {
    HOLDFAST_ASSIGN_OR_RETURN(Charge charge, quota->Take(bytes));
    held->Add(std::move(charge));
    return absl::OkStatus();
  };
  allocator->release = [held](uint64_t bytes) { held->Return(bytes); };
}

}  // namespace

Resources::Resources(ResourceOptions options)
    : streams(Table<StreamResource>(HandleKind::kStream, options)),
      events(Table<EventResource>(HandleKind::kEvent, options)),
      buffers(Table<BufferResource>(HandleKind::kBuffer, options)),
      modules(Table<ModuleResource>(HandleKind::kModule, options)),
      kernels(Table<KernelResource>(HandleKind::kKernel, options)),
      arenas(Table<ArenaResource>(HandleKind::kArena, options)),
      options_(std::move(options)),
      watcher_(options_.work_completed) {}

Resources::~Resources() {
  for (const auto& [ordinal, device] : devices_) {
    const absl::Status status = device.context->Synchronize();
    if (!status.ok()) {
      LogWarning("device ", ordinal,
                 " at the session's end: ", status.message());
    }
  }
}

absl::StatusOr<DeviceState*> Resources::Device(uint32_t ordinal) {
  const auto it = devices_.find(ordinal);
  if (it != devices_.end()) return &it->second;
  if (!options_.devices.empty() &&
      std::find(options_.devices.begin(), options_.devices.end(), ordinal) ==
          options_.devices.end()) {
    return absl::PermissionDeniedError(
        absl::StrCat("device ", ordinal, " is not one of this session's: ",
                     absl::StrJoin(options_.devices, ", ")));
  }
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Device device,
                            cuda::Device::Get(*options_.api, ordinal));
  DeviceState state;
  HOLDFAST_ASSIGN_OR_RETURN(state.context,
                            cuda::Context::RetainPrimary(device));
  memory::AllocatorOptions allocator;
  ChargeChunks(account().reserved_memory(ordinal), &allocator);
  allocator.address_hint = kAddressHint + ordinal * kAddressStride;
  if (options_.chunk_created) {
    allocator.chunk_created = [this, ordinal](const memory::Chunk& chunk) {
      options_.chunk_created(ordinal, chunk);
    };
    allocator.chunk_released = [this, ordinal](const memory::Chunk& chunk) {
      options_.chunk_released(ordinal, chunk);
    };
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      state.allocator,
      memory::DeviceAllocator::Create(state.context, std::move(allocator)));
  HOLDFAST_ASSIGN_OR_RETURN(state.reaper,
                            cuda::Stream::Create(state.context, {}));
  // Stays current in this thread, so that calls for the first device switch
  // nothing.
  if (devices_.empty()) {
    HOLDFAST_CUDA_RETURN_IF_ERROR(*options_.api,
                                  cuCtxSetCurrent(state.context->handle()));
  }
  return &devices_.emplace(ordinal, std::move(state)).first->second;
}

absl::StatusOr<DeviceState*> Resources::FirstDevice() {
  return Device(first_ordinal());
}

absl::StatusOr<const cuda::Kernel*> Resources::KernelOn(uint64_t handle,
                                                        uint32_t ordinal) {
  HOLDFAST_ASSIGN_OR_RETURN(KernelResource * found, kernels.Find(handle));
  for (const auto& kernel : found->by_device) {
    if (kernel->context().device().ordinal() == static_cast<int>(ordinal)) {
      return kernel.get();
    }
  }
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device, Device(ordinal));
  HOLDFAST_ASSIGN_OR_RETURN(auto kernel,
                            found->by_device.front()->On(device->context));
  return found->by_device.emplace_back(std::move(kernel)).get();
}

absl::StatusOr<std::shared_ptr<Staging>> Resources::GetStaging(
    OwnedStaging& owned, size_t block_bytes, size_t max_blocks,
    size_t max_places) {
  if (owned.staging == nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device, FirstDevice());
    owned.staging = Staging::Create(device->context, account().staging_memory(),
                                    block_bytes, max_blocks, max_places);
  }
  return owned.staging;
}

absl::StatusOr<InlineSpace*> Resources::Inline() {
  if (inline_ == nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(auto staging,
                              GetStaging(inline_staging_, kInlineBlockBytes,
                                         kMaxInlineBlocks, /*max_places=*/0));
    inline_ = std::make_unique<InlineSpace>(std::move(staging));
  }
  return inline_.get();
}

absl::StatusOr<std::shared_ptr<Staging>> Resources::TransferStaging() {
  return GetStaging(transfer_staging_, kMaxChunkBytes, kMaxTransferBlocks,
                    kMaxTransferPlaces);
}

absl::StatusOr<const cuda::Stream*> Resources::AfterAllStreams(
    uint32_t ordinal) {
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device, Device(ordinal));
  absl::Status status;
  const auto wait_for = [&](const cuda::Stream& stream) {
    if (!status.ok()) return;
    const auto mark = watcher_.Mark(stream);
    status = mark.ok() ? device->reaper->Wait(**mark) : mark.status();
  };
  streams.ForEach([&](StreamResource& stream) { wait_for(*stream.stream); });
  // They wait for the streams that have been destroyed.
  for (const auto& [other, state] : devices_) {
    if (other != ordinal) wait_for(*state.reaper);
  }
  HOLDFAST_RETURN_IF_ERROR(status);
  return device->reaper.get();
}

bool Resources::Retire(uint32_t device, std::shared_ptr<const void> owner) {
  const auto after = AfterAllStreams(device);
  const auto mark = after.ok() ? watcher_.Mark(**after) : after.status();
  if (!mark.ok()) {
    // Nobody can tell when the device has finished with it.
    LogWarning("kept until the session ends: ", mark.status().message());
    kept_.push_back(std::move(owner));
    return false;
  }
  watcher_.Watch({*mark}, [owner](const absl::Status&) {});
  return true;
}

void Resources::DestroyStream(StreamResource stream) {
  // Its work goes on; what is retired from now on still waits for it.
  const auto device = Device(stream.device);
  const auto mark = watcher_.Mark(*stream.stream);
  if (!device.ok() || !mark.ok()) return;
  const absl::Status status = (*device)->reaper->Wait(**mark);
  if (!status.ok()) LogWarning("destroying a stream: ", status.message());
}

void Resources::DropViews(const std::unordered_set<uint64_t>& views) {
  for (const uint64_t view : views) {
    auto taken = buffers.Take(view);
    if (taken.ok() && taken->has_value()) DropViews((**taken).views);
  }
}

absl::Status Resources::FreeBuffer(BufferResource buffer, uint64_t stream) {
  DropViews(buffer.views);
  if (buffer.host != nullptr) {
    if (Retire(buffer.device, buffer.host)) buffer.host->BeginReturn();
    return absl::OkStatus();
  }
  if (!buffer.allocation.has_value()) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device, Device(buffer.device));
  const cuda::Stream* after = nullptr;
  const auto found = streams.Find(stream != 0 ? stream : buffer.stream);
  if (found.ok() && (*found)->device == buffer.device) {
    after = (*found)->stream.get();
  } else {
    HOLDFAST_ASSIGN_OR_RETURN(after, AfterAllStreams(buffer.device));
  }
  return device->allocator->Free(*buffer.allocation, after);
}

void Resources::UnloadModule(ModuleResource module) {
  for (const uint64_t kernel : module.kernels) (void)kernels.Take(kernel);
  DropViews(module.globals);
  Retire(first_ordinal(), std::move(module.module));
}

void Resources::FreeArena(ArenaResource arena) {
  if (Retire(first_ordinal(), arena.arena)) arena.arena->BeginReturn();
}

}  // namespace holdfast::executor
