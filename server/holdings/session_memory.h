// SPDX-License-Identifier: Apache-2.0
//
// The supervisor's view of one session's device memory. The session has chunks
// of its own; a chunk that was shared may outlive the session. The session
// exports ranges of its chunks, and imports resources of other sessions
// (session_imports.h).
//
// The executor reports its chunks, and sends requests to share memory. Both are
// hostile input. There is no thread and no lock here: a SessionHoldings has one
// owner at a time, which guards it.
#ifndef HOLDFAST_SERVER_HOLDINGS_SESSION_MEMORY_H_
#define HOLDFAST_SERVER_HOLDINGS_SESSION_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "server/collections/collection_table.h"
#include "server/holdings/session_imports.h"
#include "server/kept/descriptor_store.h"
#include "server/kept/kept_state.h"
#include "server/memory/device_memory.h"
#include "server/memory/memory_ledger.h"
#include "server/sharing/export_registry.h"
#include "server/tenants/tenant.h"

namespace holdfast {

// Not thread-safe.
class SessionMemory {
 public:
  // The most chunks that the supervisor holds for one executor.
  static constexpr size_t kMaxChunks = 4096;

  // Parts of the supervisor, which must outlive this object. `grants` are the
  // session's.
  struct Services {
    ExportRegistry& exports;
    collections::CollectionTable& collections;
    DeviceMemory& memory;
    MemoryGrants& grants;
    DescriptorStore& kept;
  };
  explicit SessionMemory(const Services& services)
      : services_(services), imports_(services.collections, services.kept) {}
  ~SessionMemory() { Close(); }
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;

  // Sets the session's id and tenant. Before this call nothing can be shared.
  void Open(const std::string& session, std::shared_ptr<Tenant> tenant) {
    session_ = session;
    tenant_ = std::move(tenant);
    imports_.Open(session_, tenant_);
  }

  // The tenant of Open; null: none.
  const std::shared_ptr<Tenant>& tenant() const { return tenant_; }

  // Keeps the memory of a chunk alive until Release. RESOURCE_EXHAUSTED: the
  // session has kMaxChunks chunks.
  absl::Status Hold(const internal::ChunkCreated& created, UniqueFd fd);
  // Releases a chunk; ignores an unknown number. A shared chunk stays as long
  // as other sessions use it.
  void Release(uint64_t chunk);
  bool HasChunk(uint64_t chunk) const { return chunks_.contains(chunk); }

  // Takes over the session's chunks from an earlier daemon, and charges them.
  // RESOURCE_EXHAUSTED: the chunks exceed a limit of memory; then no chunk was
  // taken. REQUIRES: Open was called.
  absl::Status Adopt(std::map<uint64_t, KeptChunk>& chunks);
  // Takes over a chunk of a suspended session, whose bytes are in a file.
  // Charges nothing.
  void AdoptSaved(const internal::ChunkCreated& chunk);
  // Returns the resource at a range of one of the session's chunks, for an
  // import by another session. NOT_FOUND: there is no such chunk. OUT_OF_RANGE:
  // the range is beyond its end.
  absl::StatusOr<SharedResource> AdoptShared(
      const internal::SharedRange& range);

  // Calls `visit` with each chunk of the session and a borrowed descriptor;
  // stops at the first error, and returns it. The descriptor of a saved chunk
  // is -1.
  absl::Status ForEachChunk(
      const std::function<absl::Status(const internal::ChunkCreated&, int)>&
          visit) const;
  // Checks whether the session can be suspended. FAILED_PRECONDITION: the
  // session exports or imports resources, or has shared memory; the error says
  // which.
  absl::Status CheckAlone() const;
  // Returns an offset in a file for each chunk, and sets `bytes` to the sum of
  // their sizes.
  internal::SaveMemory PlanSave(uint64_t* bytes) const;
  // Releases the device memory of the chunks. Their bytes are in a file, at the
  // offsets of `saved`. A successor makes the chunks again; until EndRestore
  // only the bytes in the file are valid.
  void Suspend(const internal::SaveMemory& saved);
  // Makes the successor of a suspended session's executor put the chunks on
  // this device. Releases chunks that an earlier attempt has made.
  void MoveSaved(uint32_t device);

  // Prepares for a successor of the session's executor. The successor reserves
  // the chunks again; shared chunks stay charged.
  void BeginRestore();
  // Ends the restoration: releases imports that the successor has not reopened.
  void EndRestore();

  using Answer = SharingAnswer;
  // Carries out a request and returns its answer, or an answer with the error.
  // `descriptor` came with the request, and is borrowed; -1: none.
  Answer Ask(const internal::SharingRequest& request, int descriptor);
  SessionImports& imports() { return imports_; }

  // Releases everything, because the session has ended. Shared memory stays as
  // long as other sessions use it.
  void Close();

  void Report(v1::SessionUsage* usage) const;

 private:
  struct Chunk {
    UniqueFd fd;                 // empty if the chunk is shared or saved
    DescriptorStore::Kept kept;  // of `fd`
    uint32_t device = 0;
    uint64_t address = 0;
    uint64_t size = 0;
    std::shared_ptr<SharedChunk> shared;
    // The page of the event that the chunk was made for; null: no event.
    std::shared_ptr<EventPage> event;
    // The offset of its bytes in a file, while the session is suspended.
    std::optional<uint64_t> saved_offset;

    bool on_device() const { return fd.valid() || !saved_offset.has_value(); }
  };

  KeptName Name(const char* kind, uint64_t number) const;
  KeptName ChunkName(uint64_t chunk, uint32_t device, uint64_t address,
                     uint64_t size) const;
  // Notes that the memory of an unshared chunk was returned to the device.
  void NoteReturned(const Chunk& chunk);
  // Charges the session's tenant for a chunk that other sessions may still
  // hold. REQUIRES: the chunk is shared.
  void LeaveToOthers(const Chunk& chunk) const;
  // Releases the memory of a chunk whose bytes are in a file.
  void DropMemory(Chunk* chunk);
  absl::Status Carry(const internal::SharingRequest& request, int descriptor,
                     Answer* answer);
  absl::StatusOr<std::string> Export(const internal::ExportRequest& request);
  absl::StatusOr<SharedResource> Describe(
      const internal::ExportRequest& request);
  absl::StatusOr<SharedResource> DescribeEvent(
      const internal::ExportRequest& request);
  absl::StatusOr<std::shared_ptr<SharedChunk>> Share(uint64_t number,
                                                     Chunk& chunk);
  absl::StatusOr<SharedResource> Range(uint64_t chunk, uint64_t offset,
                                       uint64_t size);
  absl::Status Import(const internal::ImportRequest& request, Answer* answer);
  absl::StatusOr<UniqueFd> OpenEventPage(uint64_t chunk);
  absl::Status Commit(const internal::CommitRequest& request, int descriptor,
                      Answer* answer);

  const Services services_;
  std::string session_;  // empty: not open
  std::shared_ptr<Tenant> tenant_;
  std::map<uint64_t, Chunk> chunks_;
  SessionImports imports_;
  // Shared with the chunks that outlive this object.
  const std::shared_ptr<std::atomic<bool>> ended_ =
      std::make_shared<std::atomic<bool>>(false);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HOLDINGS_SESSION_MEMORY_H_
