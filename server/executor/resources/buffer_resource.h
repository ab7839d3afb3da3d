// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_BUFFER_RESOURCE_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_BUFFER_RESOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "core/cuda/module.h"
#include "core/memory/address_range.h"
#include "core/memory/device_allocator.h"
#include "core/memory/imported_chunk.h"
#include "core/memory/ipc_allocation.h"
#include "cuda.h"
#include "holdfast/v1/buffer_commands.pb.h"
#include "server/account/quota.h"
#include "server/executor/imports/imported_memory.h"
#include "server/executor/memory/pinned_memory.h"
#include "server/executor/resources/hold.h"

namespace holdfast::executor {

// A buffer: memory, or a view of memory with another owner.
//
// The kind of a buffer follows from the member that is set:
//
//   allocation   the session's own device memory
//   host         page-locked memory
//   imported     memory of another session
//   ipc          memory with an IPC handle
//   module       a variable of this module
//   reservation  a range of addresses without memory
//   mapping      memory of another buffer, mapped in a reservation
//
// A sub-buffer or a mapping has `parent`, the buffer that contains it.
struct BufferResource {
  CUdeviceptr address = 0;
  uint64_t size = 0;  // bytes
  uint32_t device = 0;
  uint64_t stream = 0;  // handle of the stream in whose order it was allocated
  std::optional<memory::Allocation> allocation;
  Charge charge;  // for device memory; for a mapping: for one chunk
  std::shared_ptr<PinnedMemory> host;
  std::shared_ptr<ImportedMemory> imported;  // of another session
  // Memory with an IPC handle (see SHARING_IPC). The memory ends with this
  // process.
  std::shared_ptr<const memory::IpcAllocation> ipc;
  // `views` contains the mappings in these addresses.
  std::shared_ptr<memory::AddressRange> reservation;
  // The memory of another buffer, mapped in a reservation. `mapped` has the
  // hold that keeps this memory.
  std::unique_ptr<memory::ImportedChunk> mapping;
  std::vector<Hold> mapped;
  bool is_host = false;  // page-locked memory, or a view of it
  bool read_only = false;
  v1::Sharing sharing = v1::SHARING_NONE;
  std::string name;                            // the client's label
  std::shared_ptr<const cuda::Module> module;  // defines this variable
  std::shared_ptr<Held<BufferResource>>
      held;                            // graphs that hold the buffer, or null
  uint64_t parent = 0;                 // handle of the containing buffer, or 0
  std::unordered_set<uint64_t> views;  // handles that end with it
};

// The use of a buffer's bytes by a command. A command must use kWrite wherever
// the bytes may change.
enum class Access { kRead, kWrite };

// Checks that a command may use the buffer, which `handle` names in errors.
// PERMISSION_DENIED: the command would write to a buffer that is read-only.
// FAILED_PRECONDITION: the buffer belongs to a collection that sleeps: no
// memory is mapped at its address until WakeCollection.
absl::Status CheckAccess(uint64_t handle, const BufferResource& buffer,
                         Access access);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_BUFFER_RESOURCE_H_
