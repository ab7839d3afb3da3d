// SPDX-License-Identifier: Apache-2.0
#include "server/executor/resources/resources.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/base/handle.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "proto/protocol_limits.h"
#include "server/relay/transfer_pipe.h"

namespace holdfast::executor {
namespace {

constexpr size_t kInlineBlockBytes = kMaxInlineBytes;
constexpr size_t kMaxInlineBlocks = 256;
static_assert(kInlineBlockBytes * kMaxInlineBlocks +
                  TransferPipe::kSlotBytes * TransferPipe::kSlots *
                      TransferPipe::kMaxPipes +
                  Account::kImageBlockBytes <=
              Account::kMaxStagingBytes);

template <typename T>
HandleTable<T> Table(HandleKind kind, const ResourceOptions& options) {
  return HandleTable<T>(kind, options.account->handles(kind));
}

std::function<void()> WatchLater(
    std::function<void(std::function<void(Resources&)>)> later) {
  if (!later) return nullptr;
  return [later = std::move(later)] {
    later([](Resources& all) { all.stream_work().Watch(); });
  };
}

// Leaves a resource whose handle is gone to the graphs that still use it.
// False: none does.
template <typename T>
bool LeaveToHolders(T& resource) {
  const auto held = std::exchange(resource.held, nullptr);
  if (held == nullptr || held.use_count() == 1) return false;
  held->freed = std::move(resource);
  return true;
}

template <typename T>
std::shared_ptr<Held<T>> HoldOn(T& resource) {
  if (resource.held == nullptr) resource.held = std::make_shared<Held<T>>();
  return resource.held;
}

// The resource, if this was the last hold on it and its handle is gone.
template <typename T>
std::optional<T> TakeLast(std::shared_ptr<Held<T>> held) {
  if (held.use_count() > 1) return std::nullopt;
  return std::exchange(held->freed, std::nullopt);
}

}  // namespace

void PutArena(Resources& resources, uint64_t handle,
              std::unique_ptr<Arena> arena, Charge charge) {
  std::shared_ptr<Arena> shared(
      arena.release(),
      [handle,
       released = resources.options().host_memory_released](const Arena* last) {
        delete last;
        if (released) released(handle);
      });
  resources.arenas.Put(handle, {std::move(shared)}, std::move(charge));
}

Resources::Resources(ResourceOptions options)
    : streams(Table<StreamResource>(HandleKind::kStream, options)),
      events(Table<EventResource>(HandleKind::kEvent, options)),
      buffers(Table<BufferResource>(HandleKind::kBuffer, options)),
      modules(Table<ModuleResource>(HandleKind::kModule, options)),
      kernels(Table<KernelResource>(HandleKind::kKernel, options)),
      arenas(Table<ArenaResource>(HandleKind::kArena, options)),
      graphs(Table<GraphResource>(HandleKind::kGraph, options)),
      graph_execs(Table<GraphExecResource>(HandleKind::kGraphExec, options)),
      semaphores(Table<SemaphoreResource>(HandleKind::kSemaphore, options)),
      devices(options),
      options_(std::move(options)),
      stream_work_(
          streams, watcher_,
          {options_.placement, options_.times, WatchLater(options_.later)}),
      watcher_(options_.hand_on_output),
      event_waits_([later = options_.later](auto waits) {
        if (!later) return;
        later([waits = std::move(waits)](Resources& all) mutable {
          all.EndWaits(std::move(waits));
        });
      }) {}

Resources::~Resources() {
  devices.Synchronize();
  // Before the staging that they are of.
  streams.ForEach([](StreamResource& stream) { stream.kept.clear(); });
}

template <typename Self, typename Visit>
auto Resources::InTable(Self& self, uint64_t handle, Visit visit) {
  switch (Handle::Unpack(handle).kind) {
    case HandleKind::kStream:
      return visit(self.streams);
    case HandleKind::kEvent:
      return visit(self.events);
    case HandleKind::kBuffer:
      return visit(self.buffers);
    case HandleKind::kModule:
      return visit(self.modules);
    case HandleKind::kKernel:
      return visit(self.kernels);
    case HandleKind::kArena:
      return visit(self.arenas);
    case HandleKind::kGraph:
      return visit(self.graphs);
    case HandleKind::kGraphExec:
      return visit(self.graph_execs);
    case HandleKind::kSemaphore:
      return visit(self.semaphores);
    default:
      return decltype(visit(self.streams))();
  }
}

void Resources::EndRestore() {
  devices.EndRestore();
  streams.SetForgiving();
  events.SetForgiving();
  buffers.SetForgiving();
  modules.SetForgiving();
  kernels.SetForgiving();
  arenas.SetForgiving();
  graphs.SetForgiving();
  graph_execs.SetForgiving();
  semaphores.SetForgiving();
}

absl::Status Resources::PutError(uint64_t handle, const absl::Status& cause) {
  return InTable(*this, handle, [&](auto& table) -> absl::Status {
    HOLDFAST_RETURN_IF_ERROR(table.CheckNew(handle));
    HOLDFAST_ASSIGN_OR_RETURN(Charge charge, table.Reserve());
    table.PutError(handle, cause, std::move(charge));
    return absl::OkStatus();
  });
}

void Resources::DropIntoError(uint64_t handle, const absl::Status& cause) {
  InTable(*this, handle,
          [&](auto& table) { return table.Fail(handle, cause).has_value(); });
}

bool Resources::IsInError(uint64_t handle) const {
  return InTable(*this, handle,
                 [&](const auto& table) { return table.IsInError(handle); });
}

bool Resources::Contains(uint64_t handle) const {
  return InTable(*this, handle,
                 [&](const auto& table) { return table.Contains(handle); });
}

bool Resources::NotesCompletion() {
  return options_.completed != nullptr && !stream_work_.destroyed().any_left();
}

void Resources::NoteCompletion() {
  if (NotesCompletion()) options_.completed(stream_work_.DoneThrough({}));
}

CompletionWatcher::Callback Resources::NoteCompletionThen(
    std::vector<StreamPoint> awaited, CompletionWatcher::Callback reply) {
  if (!NotesCompletion()) return reply;
  const uint64_t through = stream_work_.DoneThrough(awaited);
  return [this, through, awaited = std::move(awaited),
          reply = std::move(reply)](const absl::Status& done) {
    if (done.ok()) {
      for (const StreamPoint& point : awaited) point.Reach();
      options_.completed(through);
    }
    reply(done);
  };
}

absl::StatusOr<const cuda::Kernel*> Resources::KernelOn(uint64_t handle,
                                                        uint32_t ordinal) {
  HOLDFAST_ASSIGN_OR_RETURN(KernelResource * found, kernels.Find(handle));
  const int in_driver = static_cast<int>(options_.placement.InDriver(ordinal));
  for (const auto& kernel : found->by_device) {
    if (kernel->context().device().ordinal() == in_driver) {
      return kernel.get();
    }
  }
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device, devices.Open(ordinal));
  HOLDFAST_ASSIGN_OR_RETURN(auto kernel,
                            found->by_device.front()->On(device->context));
  return found->by_device.emplace_back(std::move(kernel)).get();
}

absl::StatusOr<InlineStaging*> Resources::Inline() {
  if (inline_ == nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device, devices.OpenFirst());
    inline_ = std::make_unique<InlineStaging>(
        Staging::Create(device->context, account().staging_memory(),
                        kInlineBlockBytes, kMaxInlineBlocks));
  }
  return inline_.get();
}

absl::StatusOr<const cuda::Stream*> Resources::AfterAllStreams(
    uint32_t ordinal) {
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device, devices.Open(ordinal));
  absl::Status status;
  const auto wait_for = [&](const cuda::Stream& stream) {
    if (!status.ok()) return;
    const auto mark = watcher_.RecordEvent(stream);
    status = mark.ok() ? device->reaper->Wait(**mark) : mark.status();
  };
  streams.ForEach([&](StreamResource& stream) { wait_for(*stream.stream); });
  if (device->host != nullptr) wait_for(*device->host);
  // They wait for the streams that have been destroyed.
  for (const auto& [other, state] : devices.open()) {
    if (other != ordinal) wait_for(*state.reaper);
  }
  HOLDFAST_RETURN_IF_ERROR(status);
  return device->reaper.get();
}

bool Resources::Retire(uint32_t device, std::shared_ptr<const void> owner) {
  const auto after = AfterAllStreams(device);
  const auto mark = after.ok() ? watcher_.RecordEvent(**after) : after.status();
  if (!mark.ok()) {
    // Nobody can tell when the device has finished with it.
    LogWarning("kept until the session ends: ", mark.status().message());
    stream_work_.KeepForever(std::move(owner));
    return false;
  }
  watcher_.Watch({*mark}, [owner](const absl::Status&) {});
  return true;
}

void Resources::DestroyStream(StreamResource stream) {
  // Its work goes on; what is retired from now on still waits for it.
  const auto end = stream_work_.NoteDestroyed(stream);
  const auto device = devices.Open(stream.device);
  if (!device.ok() || !end.ok()) return;
  const absl::Status status = (*device)->reaper->Wait(**end);
  if (!status.ok()) LogWarning("destroying a stream: ", status.message());
}

// In the order of numbers, since a word may get several.
void Resources::EndWaits(std::vector<EventWaits::Wait> waits) {
  std::sort(waits.begin(), waits.end(), [](const auto& a, const auto& b) {
    return a.recording.number < b.recording.number;
  });
  for (const EventWaits::Wait& wait : waits) {
    const auto device =
        static_cast<uint32_t>(wait.passed->context().device().ordinal());
    const auto host = devices.HostStream(options_.placement.Named(device));
    absl::Status status = host.status();
    if (host.ok()) {
      status = wait.event->Reach(wait.recording, **host, sharing());
    }
    // Keeps the event until that is done.
    if (status.ok()) {
      status =
          watcher_.Watch(**host, [event = wait.event](const absl::Status&) {});
    }
    if (!status.ok()) {
      LogWarning("ending a wait for an abandoned event: ", status.message());
    }
  }
}

absl::Status Resources::DestroyEvent(EventResource event) {
  if (event.imported != nullptr) {
    Retire(event.device, std::move(event.imported));
    return absl::OkStatus();
  }
  if (!event.allocation.has_value()) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device, devices.Open(event.device));
  if (devices.restoring())
    return device->allocator->Free(*event.allocation, nullptr);
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Stream* after,
                            AfterAllStreams(event.device));
  return device->allocator->Free(*event.allocation, after);
}

// Streams may still be about to come to it.
absl::Status Resources::DestroySemaphore(SemaphoreResource semaphore) {
  if (LeaveToHolders(semaphore)) return absl::OkStatus();
  if (semaphore.imported != nullptr) {
    Retire(semaphore.device, std::move(semaphore.imported));
    return absl::OkStatus();
  }
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            devices.Open(semaphore.device));
  if (devices.restoring()) {
    return device->allocator->Free(*semaphore.allocation, nullptr);
  }
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Stream* after,
                            AfterAllStreams(semaphore.device));
  return device->allocator->Free(*semaphore.allocation, after);
}

void Resources::DropViews(const std::unordered_set<uint64_t>& views) {
  for (const uint64_t view : views) {
    auto taken = buffers.Take(view);
    if (!taken.ok() || !taken->has_value()) continue;
    DropViews((**taken).views);
    Unmap(**taken);
  }
}

// At once, so that something else can be mapped there next. But the driver may
// wait for the device, and a stream may wait for a command behind this one:
// then the mapping ends later.
void Resources::Unmap(BufferResource& buffer) {
  if (buffer.mapping != nullptr && waits().AnyPending()) {
    Retire(buffer.device, std::shared_ptr<const memory::ImportedChunk>(
                              std::move(buffer.mapping)));
  }
  buffer.mapping = nullptr;
  if (!buffer.mapped.empty()) Release(std::move(buffer.mapped));
}

absl::Status Resources::FreeBuffer(BufferResource buffer, uint64_t stream) {
  DropViews(buffer.views);
  Unmap(buffer);
  // A part has no memory of its own; that is the whole's, which outlives it.
  if (buffer.parent != 0) return absl::OkStatus();
  if (LeaveToHolders(buffer)) return absl::OkStatus();
  if (buffer.host != nullptr) {
    if (Retire(buffer.device, buffer.host)) buffer.host->BeginReturn();
    return absl::OkStatus();
  }
  if (buffer.imported != nullptr) {
    Retire(buffer.device, std::move(buffer.imported));
    return absl::OkStatus();
  }
  if (buffer.reservation != nullptr) {
    Retire(buffer.device, std::move(buffer.reservation));
    return absl::OkStatus();
  }
  if (buffer.ipc != nullptr) {
    Retire(buffer.device, std::move(buffer.ipc));
    return absl::OkStatus();
  }
  if (!buffer.allocation.has_value()) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device, devices.Open(buffer.device));
  const cuda::Stream* after = nullptr;
  // No work has been given yet, and the place may be another's next.
  if (devices.restoring())
    return device->allocator->Free(*buffer.allocation, nullptr);
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
  Retire(devices.first_ordinal(), std::move(module.module));
}

void Resources::FreeArena(ArenaResource arena) {
  if (LeaveToHolders(arena)) return;
  if (Retire(devices.first_ordinal(), arena.arena)) arena.arena->BeginReturn();
}

absl::StatusOr<Hold> Resources::HoldMemory(uint64_t handle) {
  if (Handle::Unpack(handle).kind == HandleKind::kArena) {
    HOLDFAST_ASSIGN_OR_RETURN(ArenaResource * arena, arenas.Find(handle));
    return HoldOn(*arena);
  }
  if (Handle::Unpack(handle).kind == HandleKind::kSemaphore) {
    HOLDFAST_ASSIGN_OR_RETURN(SemaphoreResource * semaphore,
                              semaphores.Find(handle));
    return HoldOn(*semaphore);
  }
  HOLDFAST_ASSIGN_OR_RETURN(BufferResource * buffer, buffers.Find(handle));
  // A part of a buffer is kept by keeping the whole.
  while (buffer->parent != 0) {
    HOLDFAST_ASSIGN_OR_RETURN(buffer, buffers.Find(buffer->parent));
  }
  if (buffer->module != nullptr)
    return std::shared_ptr<const void>(buffer->module);
  return HoldOn(*buffer);
}

void Resources::Release(std::vector<Hold> holds) {
  auto others = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  for (Hold& hold : holds) {
    if (auto* held =
            std::get_if<std::shared_ptr<Held<BufferResource>>>(&hold)) {
      auto buffer = TakeLast(std::move(*held));
      if (!buffer.has_value()) continue;
      const absl::Status status = FreeBuffer(*std::move(buffer), /*stream=*/0);
      if (!status.ok()) LogWarning("freeing a buffer: ", status.message());
    } else if (auto* arenas_held =
                   std::get_if<std::shared_ptr<Held<ArenaResource>>>(&hold)) {
      auto arena = TakeLast(std::move(*arenas_held));
      if (arena.has_value()) FreeArena(*std::move(arena));
    } else if (auto* semaphores_held =
                   std::get_if<std::shared_ptr<Held<SemaphoreResource>>>(
                       &hold)) {
      auto semaphore = TakeLast(std::move(*semaphores_held));
      if (!semaphore.has_value()) continue;
      const absl::Status status = DestroySemaphore(*std::move(semaphore));
      if (!status.ok()) LogWarning("freeing a semaphore: ", status.message());
    } else {
      others->push_back(std::get<std::shared_ptr<const void>>(std::move(hold)));
    }
  }
  if (!others->empty()) Retire(devices.first_ordinal(), std::move(others));
}

}  // namespace holdfast::executor
