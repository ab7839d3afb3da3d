// SPDX-License-Identifier: Apache-2.0
//
// What a session owns, by handle, and how it is taken down again without
// waiting for the device: memory and code that the device may still be using
// go when it has come to the end of all that it was given so far.
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cuda/context.h"
#include "core/cuda/event.h"
#include "core/cuda/kernel.h"
#include "core/cuda/module.h"
#include "core/cuda/stream.h"
#include "core/memory/device_allocator.h"
#include "server/executor/account.h"
#include "server/executor/arena.h"
#include "server/executor/completion_watcher.h"
#include "server/executor/copy_counts.h"
#include "server/executor/handle_table.h"
#include "server/executor/inline_space.h"
#include "server/executor/peer_access.h"
#include "server/executor/pinned_memory.h"
#include "server/executor/quota.h"
#include "server/executor/staging.h"

namespace holdfast::executor {

// A device that the session uses: made on first use.
struct DeviceState {
  std::shared_ptr<const cuda::Context> context;
  std::unique_ptr<memory::DeviceAllocator> allocator;
  // Waits for whatever has to be finished before something may go.
  std::unique_ptr<cuda::Stream> reaper;
};

struct StreamResource {
  uint32_t device = 0;
  std::unique_ptr<cuda::Stream> stream;
};

struct EventResource {
  std::shared_ptr<cuda::Event> event;
};

// Memory, or a view of memory that something else owns.
struct BufferResource {
  CUdeviceptr address = 0;
  uint64_t size = 0;  // bytes
  uint32_t device = 0;
  uint64_t stream = 0;  // handle of the allocation's stream
  std::optional<memory::Allocation> allocation;
  Charge charge;  // of device memory
  std::shared_ptr<PinnedMemory> host;
  bool is_host = false;
  uint64_t parent = 0;                 // handle, of a sub-buffer
  std::unordered_set<uint64_t> views;  // handles that end with it
};

struct ModuleResource {
  std::shared_ptr<const cuda::Module> module;
  std::map<std::string, std::string> symbols;
  std::vector<uint64_t> kernels;
  std::unordered_set<uint64_t> globals;
};

// Never without the kernel as the module's device has it, which is the first;
// those of other devices are found when they are asked for.
struct KernelResource {
  std::vector<std::shared_ptr<const cuda::Kernel>> by_device;
};

struct ArenaResource {
  std::shared_ptr<Arena> arena;
};

class Resources;

struct ResourceOptions {
  const cuda::DriverApi* api = nullptr;  // must outlive the resources
  std::vector<uint32_t> devices;         // empty: all
  std::shared_ptr<Account> account;      // what the session may hold
  std::function<void(uint32_t device, const memory::Chunk&)> chunk_created;
  std::function<void(uint32_t device, const memory::Chunk&)> chunk_released;
  // Called, by any thread, before a client is told that its work is done.
  std::function<void()> work_completed;
  // Has work done with the resources by the thread that they belong to, soon,
  // or never if the session ends. Thread-safe.
  std::function<void(std::function<void(Resources&)> work)> later;
  // For whoever wants to know what is going on.
  std::shared_ptr<CopyCounts> copies = std::make_shared<CopyCounts>();
};

// Not thread-safe: belongs to the submission thread, but for watcher().
class Resources {
 public:
  explicit Resources(ResourceOptions options);
  // Waits for the devices and frees everything.
  ~Resources();
  Resources(const Resources&) = delete;
  Resources& operator=(const Resources&) = delete;

  HandleTable<StreamResource> streams;
  HandleTable<EventResource> events;
  HandleTable<BufferResource> buffers;
  HandleTable<ModuleResource> modules;
  HandleTable<KernelResource> kernels;
  HandleTable<ArenaResource> arenas;
  PeerAccess peers;

  // NOT_FOUND: no such device; PERMISSION_DENIED: not for this session.
  absl::StatusOr<DeviceState*> Device(uint32_t ordinal);

  // The first of the session's devices, where page-locked memory is made. It
  // serves all.
  absl::StatusOr<DeviceState*> FirstDevice();
  uint32_t first_ordinal() const {
    return options_.devices.empty() ? 0 : options_.devices.front();
  }

  // The kernel as this device has it. As Device.
  absl::StatusOr<const cuda::Kernel*> KernelOn(uint64_t kernel,
                                               uint32_t device);

  // Memory for inline bytes and blocks for the messages of transfers.
  absl::StatusOr<InlineSpace*> Inline();
  absl::StatusOr<std::shared_ptr<Staging>> TransferStaging();

  CompletionWatcher& watcher() { return watcher_; }
  CopyCounts& copies() { return *options_.copies; }
  Account& account() { return *options_.account; }
  const auto& later() const { return options_.later; }

  // Keeps `owner` alive until everything that the session's streams were given
  // so far is done. False: that cannot be told; it is kept to the session's
  // end.
  bool Retire(uint32_t device, std::shared_ptr<const void> owner);
  // The device's reaper, made to wait for all streams of the session: one of
  // another device may use this one's memory.
  absl::StatusOr<const cuda::Stream*> AfterAllStreams(uint32_t device);

  void DestroyStream(StreamResource stream);
  absl::Status FreeBuffer(BufferResource buffer, uint64_t stream);
  void UnloadModule(ModuleResource module);
  void FreeArena(ArenaResource arena);

 private:
  void DropViews(const std::unordered_set<uint64_t>& views);
  // Closed once the watcher, which is gone before it, has dropped its blocks.
  struct OwnedStaging {
    ~OwnedStaging() {
      if (staging != nullptr) staging->Close();
    }
    std::shared_ptr<Staging> staging;
  };
  absl::StatusOr<std::shared_ptr<Staging>> GetStaging(OwnedStaging& owned,
                                                      size_t block_bytes,
                                                      size_t max_blocks,
                                                      size_t max_places);

  const ResourceOptions options_;
  std::map<uint32_t, DeviceState> devices_;
  std::vector<std::shared_ptr<const void>> kept_;
  OwnedStaging inline_staging_;
  std::unique_ptr<InlineSpace> inline_;
  OwnedStaging transfer_staging_;
  CompletionWatcher watcher_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_H_
