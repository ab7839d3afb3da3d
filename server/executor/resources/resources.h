// SPDX-License-Identifier: Apache-2.0
//
// A session's resources by handle, and their release without waiting for the
// device: memory and code that the device may still be using
// go when it has come to the end of all that it was given so far.
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_RESOURCES_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_RESOURCES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cuda/context.h"
#include "core/cuda/kernel.h"
#include "core/cuda/module.h"
#include "core/cuda/stream.h"
#include "core/memory/device_allocator.h"
#include "holdfast/v1/admin.pb.h"
#include "server/executor/account/account.h"
#include "server/executor/account/quota.h"
#include "server/executor/command/copy_counts.h"
#include "server/executor/command/inline_staging.h"
#include "server/executor/recovery/inheritance.h"
#include "server/executor/recovery/kernel_watch.h"
#include "server/executor/recovery/memory_image.h"
#include "server/executor/resources/buffer_resource.h"
#include "server/executor/resources/device_placement.h"
#include "server/executor/resources/event_resource.h"
#include "server/executor/resources/handle_table.h"
#include "server/executor/resources/hold.h"
#include "server/executor/resources/peer_access.h"
#include "server/executor/resources/stream_resource.h"
#include "server/executor/resources/stream_work.h"
#include "server/executor/sharing/event_waits.h"
#include "server/executor/sharing/imported_memory.h"
#include "server/executor/sharing/semaphore_waits.h"
#include "server/executor/sharing/sharing_link.h"
#include "server/executor/submission/completion_watcher.h"
#include "server/executor/transfer/arena.h"
#include "server/executor/transfer/staging.h"
#include "server/executor/turns/device_times.h"
#include "server/executor/turns/device_turns.h"

namespace holdfast::executor {

// A device that the session uses: made on first use, kept until the executor
// ends.
struct DeviceState {
  std::shared_ptr<const cuda::Context> context;
  std::unique_ptr<memory::DeviceAllocator> allocator;
  // Waits for whatever has to be finished before something may go.
  std::unique_ptr<cuda::Stream> reaper;
  // Nothing ever holds it up; made on first use.
  std::unique_ptr<cuda::Stream> host;
};

// Loaded code. Its kernels' handles and its variables' handles end with it.
struct ModuleResource {
  std::shared_ptr<const cuda::Module> module;
  std::map<std::string, std::string> symbols;
  std::vector<uint64_t> kernels;
  // Buffers of its variables, some of which may have been freed, and the number
  // of them at which those are dropped.
  static constexpr size_t kPruneGlobalsFrom = 16;
  std::unordered_set<uint64_t> globals;
  size_t prune_globals_at = kPruneGlobalsFrom;
  // Names of the variables that a suspension saves, as in the image: those that
  // were read there (core/cuda/variable_names.h), and those that had a handle.
  std::set<std::string> variables;
};

// Never without the kernel as the module's device has it, which is the first;
// those of other devices are found when they are asked for.
struct KernelResource {
  std::vector<std::shared_ptr<const cuda::Kernel>> by_device;
};

// A counter in device memory.
struct SemaphoreResource {
  CUdeviceptr address = 0;
  uint32_t device = 0;
  std::optional<memory::Allocation> allocation;
  std::shared_ptr<ImportedMemory> imported;  // of another session
  bool read_only = false;
  std::shared_ptr<Held<SemaphoreResource>> held;  // by graphs; null: by none
};

struct ArenaResource {
  std::shared_ptr<Arena> arena;
  std::shared_ptr<Held<ArenaResource>> held;  // by graphs; null: by none
};

// See graph/built_graph.h and graph/graph_instance.h.
class BuiltGraph;
class GraphInstance;
// A graph as it was defined, from which instances are made.
struct GraphResource {
  std::shared_ptr<const BuiltGraph> graph;
  std::weak_ptr<const GraphInstance> instance;  // the last one
};
// A graph that can be launched.
struct GraphExecResource {
  std::shared_ptr<GraphInstance> instance;
};

class Resources;

// Puts an arena under its handle; the supervisor lets go of its memory when the
// last device has. REQUIRES: as HandleTable::Put.
void PutArena(Resources& resources, uint64_t handle,
              std::unique_ptr<Arena> arena, Charge charge);

// Everything that the resources need from the executor around them. Callbacks
// run on the submission thread unless it is said otherwise.
struct ResourceOptions {
  const cuda::DriverApi* api = nullptr;  // must outlive the resources
  std::vector<uint32_t> devices;         // empty: all
  DevicePlacement placement;             // of `devices`
  std::shared_ptr<Account> account;      // what the session may hold
  // The part of each device's range that priorities are taken from.
  v1::StreamPriorityClass stream_priorities =
      v1::STREAM_PRIORITY_CLASS_UNSPECIFIED;
  uint32_t first_chunk = 1;  // as memory::AllocatorOptions has it
  // As AllocatorOptions has them, with the device's ordinal.
  std::function<void(uint32_t device, const memory::Chunk&)> chunk_created;
  std::function<void(uint32_t device, const memory::Chunk&)> chunk_released;
  // The first of the addresses at which the device's chunks will lie.
  std::function<void(uint32_t device, CUdeviceptr base)> device_opened;
  // Where arenas are mapped; null: anywhere.
  std::shared_ptr<ArenaPlaces> arena_places;
  // Memory of the host that outlives this process; its descriptor is borrowed.
  std::function<void(const internal::HostMemoryCreated& created, int memory)>
      host_memory_created;
  std::function<void(uint64_t handle)> host_memory_released;
  // Every command with a number up to this has taken effect. Thread-safe.
  std::function<void(uint64_t sequence)> completed;
  SharingLink sharing;
  std::shared_ptr<SemaphoreWaits> waits = std::make_shared<SemaphoreWaits>();
  // Null: kernels may run for as long as they like.
  std::shared_ptr<KernelWatch> kernel_watch;
  // As CompletionWatcher takes it.
  std::function<void()> hand_on_output;
  // Has work done with the resources by the thread that they belong to, soon,
  // or never if the session ends. Thread-safe.
  std::function<void(std::function<void(Resources&)> work)> later;
  // Has that thread nothing else to do just now? May be null.
  std::function<bool()> idle;
  // For whoever wants to know what is going on.
  std::shared_ptr<CopyCounts> copies = std::make_shared<CopyCounts>();
  std::shared_ptr<DeviceTimes> times = std::make_shared<DeviceTimes>();
  std::shared_ptr<DeviceTurns> turns = std::make_shared<DeviceTurns>();
};

// Not thread-safe: belongs to the submission thread, but for watcher().
//
// One object holds all that a session has in this process. Command handlers
// find their operands in its tables, put results there, and free through it:
//
//   HOLDFAST_ASSIGN_OR_RETURN(StreamResource* stream,
//                             resources.StreamForWork(handle));
//   HOLDFAST_ASSIGN_OR_RETURN(DeviceState* device,
//                             resources.Device(stream->device));
//
// Nothing that is freed waits for the device: memory goes back to the allocator
// in stream order, and other things are kept by Retire.
class Resources {
 public:
  // Opens no device yet.
  explicit Resources(ResourceOptions options);
  // Waits for the devices and frees everything.
  ~Resources();
  Resources(const Resources&) = delete;
  Resources& operator=(const Resources&) = delete;

  // One table for each kind of handle; the account gives each its limit.
  HandleTable<StreamResource> streams;
  HandleTable<EventResource> events;
  HandleTable<BufferResource> buffers;
  HandleTable<ModuleResource> modules;
  HandleTable<KernelResource> kernels;
  HandleTable<ArenaResource> arenas;
  HandleTable<GraphResource> graphs;
  HandleTable<GraphExecResource> graph_execs;
  HandleTable<SemaphoreResource> semaphores;
  PeerAccess peers;

  // Finds a stream that is about to be given work of the device's, which counts
  // as GPU time. As HandleTable::Find.
  absl::StatusOr<StreamResource*> StreamForWork(uint64_t handle) {
    absl::StatusOr<StreamResource*> found = streams.Find(handle);
    if (found.ok() && !(*found)->unmarked) stream_work_.NoteGiven(**found);
    return found;
  }
  StreamWork& stream_work() { return stream_work_; }

  // NOT_FOUND: no such device; PERMISSION_DENIED: not for this session. Makes a
  // context, an allocator and a reaper on first use. The pointer is valid as
  // long as this object.
  absl::StatusOr<DeviceState*> Device(uint32_t ordinal);

  // Makes the context of the device that was opened first current, so that
  // calls for it switch nothing. For each thread that carries something out;
  // costs a few nanoseconds if it is.
  void MakeCurrent() const;

  // The devices that the session has used. In ascending order.
  std::vector<uint32_t> OpenDevices() const;

  // The first of the session's devices, where page-locked memory is made. It
  // serves all. As Device.
  absl::StatusOr<DeviceState*> FirstDevice();
  uint32_t first_ordinal() const {
    return options_.devices.empty() ? 0 : options_.devices.front();
  }

  // The kernel as this device has it. As Device. Valid as long as the kernel's
  // handle.
  absl::StatusOr<const cuda::Kernel*> KernelOn(uint64_t kernel,
                                               uint32_t device);

  // Memory for inline bytes and for the messages of transfers. Both are made on
  // first use, on the first device, and charged to the account as staging.
  absl::StatusOr<InlineStaging*> Inline();
  absl::StatusOr<std::shared_ptr<Staging>> TransferStaging();
  // Blocks of kMaxChunkBytes that the messages of all transfers share.
  static constexpr size_t kTransferBlocks = 32;

  CompletionWatcher& watcher() { return watcher_; }
  CopyCounts& copies() { return *options_.copies; }
  Account& account() { return *options_.account; }
  const auto& later() const { return options_.later; }
  const SharingLink& sharing() const { return options_.sharing; }
  SemaphoreWaits& waits() { return *options_.waits; }
  EventWaits& event_waits() { return event_waits_; }
  // Null: there is no limit.
  KernelWatch* kernel_watch() { return options_.kernel_watch.get(); }

  const ResourceOptions& options() const { return options_; }

  // Device memory for a resource: the place that it had, while a session is
  // restored; else as DeviceAllocator::Allocate, or AllocateAlone. `handle` is
  // that of the resource, of any kind.
  absl::StatusOr<memory::Allocation> Allocate(uint64_t handle, uint32_t device,
                                              uint64_t size,
                                              const cuda::Stream* stream,
                                              bool alone);

  // From BeginRestore on, resources are made where they were in the process
  // that this one succeeds; EndRestore forgives the destruction of handles
  // whose creation the fault has dropped. `inheritance` is borrowed until
  // EndRestore.
  void BeginRestore(Inheritance* inheritance) { inheritance_ = inheritance; }
  void EndRestore();
  bool restoring() const { return inheritance_ != nullptr; }
  // REQUIRES: restoring().
  const Inheritance& inheritance() const { return *inheritance_; }
  // For bytes of a suspended session; EndRestore clears them.
  MemoryCopiers& copiers() { return copiers_; }

  // Puts a handle of any kind in error, as a failed creation does. Commands
  // that use the handle then fail with `cause`, until it is destroyed.
  absl::Status PutError(uint64_t handle, const absl::Status& cause);
  // The same of a handle that names a value, which is dropped.
  void DropIntoError(uint64_t handle, const absl::Status& cause);
  // As HandleTable::IsInError and Contains.
  bool IsInError(uint64_t handle) const;
  bool Contains(uint64_t handle) const;

  // Notes, when a wait for all streams that begins now has ended well, that the
  // commands up to `sequence` are completed.
  std::function<void(const absl::Status&)> NoteCompletion(uint64_t sequence);

  // Keeps `owner` alive until everything that the session's streams were given
  // so far is done. False: that cannot be told; it is kept to the session's
  // end. Does not block.
  bool Retire(uint32_t device, std::shared_ptr<const void> owner);
  // The device's reaper, made to wait for all streams of the session: one of
  // another device may use this one's memory. Work given to it from then on
  // runs after all of theirs. An error of any stream's is returned.
  absl::StatusOr<const cuda::Stream*> AfterAllStreams(uint32_t device);

  // A stream of the device for what the host does at once. As Device.
  absl::StatusOr<const cuda::Stream*> HostStream(uint32_t device);

  // Its work goes on; memory that is freed later still waits for it.
  void DestroyStream(StreamResource stream);
  // The functions from here to FreeArena take a resource whose handle is gone
  // already. Each returns at once, and lets go of memory after all work that
  // may use it; while a session is restored there is none, and the place is
  // free at once. A resource that graphs still hold is left to them.
  absl::Status DestroyEvent(EventResource event);
  absl::Status DestroySemaphore(SemaphoreResource semaphore);
  // Frees in the order of `stream`, or of the stream of the allocation if it is
  // 0; if there is no such stream any more, after all streams. The buffer's
  // views end with it.
  absl::Status FreeBuffer(BufferResource buffer, uint64_t stream);
  // Its kernels and variables end with it.
  void UnloadModule(ModuleResource module);
  void FreeArena(ArenaResource arena);

  // Keeps the memory of a buffer, an arena or a semaphore beyond the life of
  // its handle. A sub-buffer keeps the whole. Fails as HandleTable::Find.
  absl::StatusOr<Hold> HoldMemory(uint64_t handle);
  // Lets go. Frees, after all that the streams were given so far, whatever has
  // no handle and no other hold any more.
  void Release(std::vector<Hold> holds);

 private:
  // Ends waits that nothing else ends, since the events' makers are gone.
  void EndWaits(std::vector<EventWaits::Wait> waits);
  // Removes the handles, and those of views of them.
  void DropViews(const std::unordered_set<uint64_t>& views);
  // Closed once the watcher, which is gone before it, has dropped its blocks.
  struct OwnedStaging {
    ~OwnedStaging() {
      if (memory != nullptr) memory->Close();
    }
    std::shared_ptr<Staging> memory;
  };

  // The place that the resource had in the process before.
  absl::StatusOr<memory::Allocation> AllocateInherited(DeviceState& device,
                                                       uint64_t handle,
                                                       uint32_t ordinal,
                                                       uint64_t size);
  // Maps the chunk, or makes it anew from a suspended session's bytes, unless
  // that was done.
  absl::Status Adopt(DeviceState& device, const internal::Placement& placement);
  // Calls `visit` with the table of the handle's kind; without one, returns a
  // default.
  template <typename Self, typename Visit>
  static auto InTable(Self& self, uint64_t handle, Visit visit);

  const ResourceOptions options_;
  Inheritance* inheritance_ = nullptr;
  MemoryCopiers copiers_;
  std::map<uint32_t, DeviceState> devices_;
  std::shared_ptr<const cuda::Context> first_context_;  // null: none is open
  StreamWork stream_work_;
  OwnedStaging inline_staging_;
  std::unique_ptr<InlineStaging> inline_;
  OwnedStaging transfer_staging_;
  CompletionWatcher watcher_;
  EventWaits event_waits_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_RESOURCES_H_
