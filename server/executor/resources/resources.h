// SPDX-License-Identifier: Apache-2.0
//
// A session's resources by handle. They are released without waiting for the
// device: memory and code that the device may be using are freed when the
// device has finished all work that it was given so far.
//
// Threads: everything belongs to the submission thread. The watcher's thread,
// the thread of the event waits, and threads that release staging memory call
// ResourceOptions::later to run work on the submission thread.
//
// Locks: none here. Parts that other threads call have their own locks: the
// watcher, the staging memory and the waits.
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
#include "holdfast/v1/peer_commands.pb.h"
#include "server/account/account.h"
#include "server/account/quota.h"
#include "server/counters/copy_counts.h"
#include "server/counters/device_times.h"
#include "server/counters/device_turns.h"
#include "server/executor/imports/event_waits.h"
#include "server/executor/imports/imported_memory.h"
#include "server/executor/imports/semaphore_waits.h"
#include "server/executor/imports/sharing_link.h"
#include "server/executor/memory/arena.h"
#include "server/executor/memory/inline_staging.h"
#include "server/executor/memory/staging.h"
#include "server/executor/resources/buffer_resource.h"
#include "server/executor/resources/device_placement.h"
#include "server/executor/resources/event_resource.h"
#include "server/executor/resources/handle_table.h"
#include "server/executor/resources/hold.h"
#include "server/executor/resources/peer_access.h"
#include "server/executor/resources/session_devices.h"
#include "server/executor/resources/stream_resource.h"
#include "server/executor/resources/stream_work.h"
#include "server/executor/submission/completion_watcher.h"
#include "server/executor/submission/kernel_watch.h"

namespace holdfast::executor {

// Loaded code. The handles of its kernels and variables end with it.
struct ModuleResource {
  std::shared_ptr<const cuda::Module> module;
  std::map<std::string, std::string> symbols;
  std::vector<uint64_t> kernels;
  // The handles of the buffers of the module's variables. Some of the buffers
  // may have been freed; their handles are removed when there are
  // prune_globals_at entries.
  static constexpr size_t kPruneGlobalsFrom = 16;
  std::unordered_set<uint64_t> globals;
  size_t prune_globals_at = kPruneGlobalsFrom;
  // The variables that a suspension saves, by their names in the image:
  // variables that were found in it (core/cuda/variable_names.h), and variables
  // that had a handle.
  std::set<std::string> variables;
};

// A kernel on each device. The first entry, on the module's device, always
// exists. The kernels on other devices are looked up on first use.
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

// Host memory that the client shares.
struct ArenaResource {
  std::shared_ptr<Arena> arena;
  std::shared_ptr<Held<ArenaResource>> held;  // by graphs; null: by none
};

class BuiltGraph;
class GraphInstance;
// A graph from which instances are made (graph/built_graph.h).
struct GraphResource {
  std::shared_ptr<const BuiltGraph> graph;
  std::weak_ptr<const GraphInstance> instance;  // the last one
};
// An instantiated graph, which can be launched (graph/graph_instance.h).
struct GraphExecResource {
  std::shared_ptr<GraphInstance> instance;
};

class Resources;

// Puts an arena under its handle. When the arena has been freed and the last
// device has finished with it, the supervisor releases its memory. REQUIRES: as
// HandleTable::Put.
void PutArena(Resources& resources, uint64_t handle,
              std::unique_ptr<Arena> arena, Charge charge);

// The services of the executor that the resources use, in addition to the
// services that the devices use. Callbacks run on the submission thread unless
// documented otherwise.
struct ResourceOptions : SessionDevices::Options {
  // The part of each device's range of stream priorities that the session uses.
  v1::StreamPriorityClass stream_priorities =
      v1::STREAM_PRIORITY_CLASS_UNSPECIFIED;
  // True if the session may have IPC handles for processes outside Holdfast.
  bool foreign_exports = true;
  // The places for arenas; null: anywhere.
  std::shared_ptr<ArenaPlaces> arena_places;
  // Called with host memory that must outlive this process. The descriptor
  // `memory` is borrowed.
  std::function<void(const internal::HostMemoryCreated& created, int memory)>
      host_memory_created;
  std::function<void(uint64_t handle)> host_memory_released;
  // Called by any thread when every command up to this number has taken effect.
  std::function<void(uint64_t sequence)> completed;
  SharingLink sharing;
  std::shared_ptr<SemaphoreWaits> waits = std::make_shared<SemaphoreWaits>();
  // Null: kernels have no time limit.
  std::shared_ptr<KernelWatch> kernel_watch;
  // The argument of CompletionWatcher.
  std::function<void()> hand_on_output;
  // Runs `work` on the thread that owns the resources, soon, or never if the
  // session ends. Thread-safe.
  std::function<void(std::function<void(Resources&)> work)> later;
  // Returns true if the thread that owns the resources has nothing else to do.
  // May be null.
  std::function<bool()> idle;
  // Statistics, and the session's turns at devices; never null.
  std::shared_ptr<CopyCounts> copies = std::make_shared<CopyCounts>();
  std::shared_ptr<DeviceTimes> times = std::make_shared<DeviceTimes>();
  std::shared_ptr<DeviceTurns> turns = std::make_shared<DeviceTurns>();
};

// All resources of a session in this process. Not thread-safe: belongs to the
// submission thread, except for watcher(). Command handlers find their operands
// in its tables, put new resources there, and free resources with its
// functions:
//
//   HOLDFAST_ASSIGN_OR_RETURN(StreamResource* stream,
//                             resources.StreamForWork(handle));
//   HOLDFAST_ASSIGN_OR_RETURN(DeviceState* device,
//                             resources.devices.Open(stream->device));
//
// A free never waits for the device: memory is given back to the allocator in
// stream order, and Retire keeps other objects until they are unused.
class Resources {
 public:
  // Opens no device yet.
  explicit Resources(ResourceOptions options);
  // Blocks until the devices are idle, and frees everything.
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
  SessionDevices devices;

  // Finds a stream to which the caller is about to submit work. The work counts
  // as GPU time. Fails as HandleTable::Find.
  absl::StatusOr<StreamResource*> StreamForWork(uint64_t handle) {
    absl::StatusOr<StreamResource*> found = streams.Find(handle);
    if (found.ok() && !(*found)->unmarked) stream_work_.NoteGiven(**found);
    return found;
  }
  StreamWork& stream_work() { return stream_work_; }

  // Returns the kernel on this device; never null. Valid as long as the
  // kernel's handle. Fails as HandleTable::Find and SessionDevices::Open.
  absl::StatusOr<const cuda::Kernel*> KernelOn(uint64_t kernel,
                                               uint32_t device);

  // Returns the memory for inline bytes; never null. The first call makes it,
  // on the first device; it is charged to the account as staging. Fails as
  // SessionDevices::Open.
  absl::StatusOr<InlineStaging*> Inline();

  CompletionWatcher& watcher() { return watcher_; }
  CopyCounts& copies() { return *options_.copies; }
  Account& account() { return *options_.account; }
  const auto& later() const { return options_.later; }
  const SharingLink& sharing() const { return options_.sharing; }
  SemaphoreWaits& waits() { return *options_.waits; }
  EventWaits& event_waits() { return event_waits_; }
  // Null if kernels have no time limit.
  KernelWatch* kernel_watch() { return options_.kernel_watch.get(); }

  const ResourceOptions& options() const { return options_; }

  // Ends the restoration that devices.BeginRestore has begun. From now on it is
  // no error to destroy a handle whose creation the fault has dropped.
  void EndRestore();

  // Puts a new handle of any kind in error, as a failed creation does: commands
  // that use it fail with `cause` until it is destroyed. Fails as
  // HandleTable::CheckNew and Reserve.
  absl::Status PutError(uint64_t handle, const absl::Status& cause);
  // Destroys the value of a handle, and leaves the handle in error.
  void DropIntoError(uint64_t handle, const absl::Status& cause);
  // Like HandleTable::IsInError and Contains, for a handle of any kind.
  bool IsInError(uint64_t handle) const;
  bool Contains(uint64_t handle) const;

  // Notes the commands that are completed now: all commands before the first
  // command that may be unfinished in a stream.
  void NoteCompletion();
  // Returns a callback for a wait that begins now, until the streams of
  // `awaited` have reached these points. If the wait ends with OK, the callback
  // notes the commands that are completed: all commands before the first
  // command that may be unfinished in another stream. Then it calls `reply`,
  // with the outcome of the wait. Only the watcher may keep the callback,
  // because it refers to this object. Any thread may call it.
  CompletionWatcher::Callback NoteCompletionThen(
      std::vector<StreamPoint> awaited, CompletionWatcher::Callback reply);

  // Keeps `owner` alive until all present work of the session's streams is
  // done. Does not block. Returns false if the end of the work cannot be
  // determined; `owner` is then kept until the session ends.
  bool Retire(uint32_t device, std::shared_ptr<const void> owner);
  // Makes the device's reaper (DeviceState::reaper) wait for the present work
  // of all streams of the session, and returns the reaper. Does not block.
  // Streams of other devices are included, because they may use this device's
  // memory. Fails with the error of any stream.
  absl::StatusOr<const cuda::Stream*> AfterAllStreams(uint32_t device);

  // Destroys a stream. Its work continues, and memory that is freed later is
  // freed after this work.
  void DestroyStream(StreamResource stream);
  // The functions from here to FreeArena end a resource whose handle was
  // removed. They do not block. Memory is freed after all work that may use it,
  // or at once while a session is restored. A resource that graphs hold is kept
  // for the graphs. An error is the driver's.
  absl::Status DestroyEvent(EventResource event);
  absl::Status DestroySemaphore(SemaphoreResource semaphore);
  // Frees a buffer in the order of `stream`, or of the stream of its allocation
  // if `stream` is 0. If the stream is gone, frees the buffer after all
  // streams. The buffer's views end with it.
  absl::Status FreeBuffer(BufferResource buffer, uint64_t stream);
  // The module's kernels and variables end with it.
  void UnloadModule(ModuleResource module);
  void FreeArena(ArenaResource arena);

  // Returns a share that keeps the memory of a buffer, an arena or a semaphore
  // beyond the life of its handle, until Release. For a sub-buffer, it keeps
  // the whole buffer. Fails as HandleTable::Find.
  absl::StatusOr<Hold> HoldMemory(uint64_t handle);
  // Gives holds up, without blocking. Memory that has no handle and no other
  // hold is freed after all present work of the streams.
  void Release(std::vector<Hold> holds);

 private:
  // Returns false if no one is told of completed commands, or if a destroyed
  // stream may have unfinished work.
  bool NotesCompletion();
  // Ends waits for events whose sessions have ended, because nothing else would
  // end them.
  void EndWaits(std::vector<EventWaits::Wait> waits);
  // Unmaps the buffer if it is a mapping. The mapped memory keeps its owner.
  void Unmap(BufferResource& buffer);
  // Removes the handles of these views, and the handles of views of the views.
  void DropViews(const std::unordered_set<uint64_t>& views);
  // Calls `visit` with the table of the handle's kind. Returns a default if
  // there is no such table.
  template <typename Self, typename Visit>
  static auto InTable(Self& self, uint64_t handle, Visit visit);

  const ResourceOptions options_;
  StreamWork stream_work_;
  // Ends after the watcher, which has blocks of it. Null: not used yet.
  std::unique_ptr<InlineStaging> inline_;
  CompletionWatcher watcher_;
  EventWaits event_waits_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_RESOURCES_H_
