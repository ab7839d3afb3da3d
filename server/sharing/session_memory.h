// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SHARING_SESSION_MEMORY_H_
#define HOLDFAST_SERVER_SHARING_SESSION_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "server/collections/collection_table.h"
#include "server/restart/descriptor_store.h"
#include "server/restart/kept_state.h"
#include "server/sharing/export_registry.h"
#include "server/supervisor/device_memory.h"
#include "server/supervisor/memory_ledger.h"
#include "server/tenants/tenant.h"

namespace holdfast {

// The supervisor's part of one session's device memory: its chunks, its exports
// and its imports. The executor's messages come
// here; they are hostile input. Not thread-safe.
class SessionMemory {
 public:
  // Chunks that one executor may have the supervisor hold.
  static constexpr size_t kMaxChunks = 4096;
  static constexpr size_t kMaxImports = 4096;

  // Parts of the supervisor, which outlive it; the grants are the session's.
  struct Services {
    ExportRegistry& exports;
    collections::CollectionTable& collections;
    supervisor::DeviceMemory& memory;
    supervisor::MemoryGrants& grants;
    DescriptorStore& kept;
  };
  explicit SessionMemory(const Services& services) : services_(services) {}
  ~SessionMemory() { Close(); }
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;

  // Before it nothing can be shared. `tenant` is whose session it is.
  void Open(const std::string& session, std::shared_ptr<Tenant> tenant) {
    session_ = session;
    tenant_ = std::move(tenant);
  }

  // RESOURCE_EXHAUSTED: too many.
  absl::Status Hold(const internal::ChunkCreated& created, UniqueFd fd);
  void Release(uint64_t chunk);
  bool HasChunk(uint64_t chunk) const { return chunks_.contains(chunk); }

  // After Open: takes the chunks that the session had under an earlier daemon,
  // and charges them. RESOURCE_EXHAUSTED: there is not that much memory;
  // nothing was taken.
  absl::Status Adopt(std::map<uint64_t, KeptChunk>& chunks);
  // The same for one whose bytes are in a file, while the session is suspended.
  void AdoptSaved(const internal::ChunkCreated& chunk);
  // Imports of these chunks by others, and what the session imported
  // under this name, `version` if that is a collection's. NOT_FOUND: there is
  // no such chunk.
  absl::StatusOr<SharedResource> AdoptShared(
      const internal::SharedRange& range);
  void AdoptImport(uint64_t import, SharedResource resource,
                   std::shared_ptr<const collections::OpenVersion> version);
  // The same of a buffer of a collection that sleeps.
  void AdoptSleeping(uint64_t import, const internal::SharedRange& range);

  // Calls `visit` with each chunk that the session has and a descriptor of it,
  // which is borrowed, until one call fails. A saved chunk has none: -1.
  absl::Status ForEachChunk(
      const std::function<absl::Status(const internal::ChunkCreated&, int)>&
          visit) const;
  // FAILED_PRECONDITION: some of its memory is of other sessions, or others use
  // some of it, so that it cannot be suspended; the message says which.
  absl::Status CheckAlone() const;
  // Where the bytes of each chunk go in a file, and how many there are.
  internal::SaveMemory PlanSave(uint64_t* bytes) const;
  // The bytes are in that file: lets go of the chunks. A successor makes them
  // anew, and until EndRestore nothing but the file counts.
  void Suspend(const internal::SaveMemory& saved);
  // The successor of a suspended session's executor is to make the chunks on
  // this device. One that failed may have made some already.
  void MoveSaved(uint32_t device);

  // A successor of the session's executor will reserve the chunks again; the
  // shared ones are charged already.
  void BeginRestore();
  // The successor has all that it wants: lets go of imports that it has not
  // opened again.
  void EndRestore();

  struct Answer {
    internal::SharingReply reply;
    UniqueFd descriptor;
  };
  // `descriptor` came with the request; -1: none.
  Answer Ask(const internal::SharingRequest& request, int descriptor);
  // The version that the request would open, or open again for a successor, for
  // its answer; null: it opens none, or none that there is, as the answer says.
  std::shared_ptr<const collections::OpenVersion> OpenFor(
      const internal::SharingRequest& request) const;
  void ReleaseImport(uint64_t import) { imports_.erase(import); }
  bool HasImport(uint64_t import) const { return imports_.contains(import); }

  // The session has ended: lets go of everything. Memory that others use stays.
  void Close();

  void Report(v1::SessionUsage* usage) const;

 private:
  struct Chunk {
    UniqueFd fd;                 // until it is shared
    DescriptorStore::Kept kept;  // likewise
    uint32_t device = 0;
    uint64_t address = 0;
    uint64_t size = 0;
    std::shared_ptr<SharedChunk> shared;
    // The page of the event that the chunk was made for; null: it is for none.
    std::shared_ptr<EventPage> event;
    // The place of its bytes in a file, while the session is suspended.
    std::optional<uint64_t> saved_offset;

    bool on_device() const { return fd.valid() || !saved_offset.has_value(); }
  };

  // A resource of another session that this one uses. One that sleeps is none:
  // it has no chunk and no version, and its place in what it was stays.
  struct Imported {
    SharedResource resource;
    std::shared_ptr<const collections::OpenVersion>
        version;  // null: of no collection
    DescriptorStore::Kept kept;
    uint64_t chunk_size = 0;  // of a sleeping one

    bool asleep() const { return resource.chunk == nullptr; }
  };

  KeptName Name(const char* kind, uint64_t number) const;
  KeptName ChunkName(uint64_t chunk, uint32_t device, uint64_t address,
                     uint64_t size) const;
  // Keeps what a successor of this daemon needs to import it again.
  void Keep(uint64_t number, Imported* import);

  // The device has the memory of a chunk that is not shared back.
  void NoteReturned(const Chunk& chunk);
  // Charges the session's tenant for a chunk that others may still hold.
  // REQUIRES: it is shared.
  void LeaveToOthers(const Chunk& chunk) const;
  // Lets go of the memory of a chunk whose bytes are in a file.
  void DropMemory(Chunk* chunk);
  absl::Status Carry(const internal::SharingRequest& request, int descriptor,
                     Answer* answer);
  absl::StatusOr<std::string> Export(const internal::ExportRequest& request);
  absl::StatusOr<SharedResource> Describe(
      const internal::ExportRequest& request);
  absl::StatusOr<SharedResource> DescribeEvent(
      const internal::ExportRequest& request);
  absl::StatusOr<SharedResource> OfCollection(
      const internal::ExportRequest& request);
  absl::StatusOr<std::shared_ptr<SharedChunk>> Share(uint64_t number,
                                                     Chunk& chunk);
  absl::StatusOr<SharedResource> Range(uint64_t chunk, uint64_t offset,
                                       uint64_t size);
  absl::Status Import(const internal::ImportRequest& request, Answer* answer);
  absl::Status CheckMayImport() const;
  absl::Status AddImport(Imported imported, Answer* answer);
  // Opens the memory for the executor, and says what it is and its name.
  static absl::Status DescribeImport(uint64_t import, const Imported& imported,
                                     Answer* answer);
  absl::Status Reopen(uint64_t import, Answer* answer);
  // The event that was imported under this name. NOT_FOUND: there is none.
  absl::StatusOr<const SharedResource*> ImportedEvent(uint64_t import) const;
  absl::StatusOr<UniqueFd> OpenEventPage(uint64_t chunk);
  absl::StatusOr<UniqueFd> OpenAbandoned(uint64_t import) const;
  absl::Status Commit(const internal::CommitRequest& request, int descriptor,
                      Answer* answer);
  absl::StatusOr<SharedResource> Committed(
      const internal::CommittedBuffer& buffer);
  absl::Status OpenVersionOf(const internal::OpenRequest& request,
                             Answer* answer);
  // Finds the buffer that is asked for, and says which version it is of.
  absl::StatusOr<Imported> FindBuffer(const internal::OpenRequest& request,
                                      v1::CollectionVersion* summary);
  absl::StatusOr<Imported*> BufferOfVersion(uint64_t import);
  absl::Status NoteRead(uint64_t import);
  absl::Status Sleep(uint64_t import);
  absl::Status Wake(const internal::WakeRequest& request, Answer* answer);

  const Services services_;
  std::string session_;  // empty: not open
  std::shared_ptr<Tenant> tenant_;
  std::map<uint64_t, Chunk> chunks_;
  std::map<uint64_t, Imported> imports_;
  uint64_t last_import_ = 0;
  std::set<uint64_t> reopened_;
  // For the chunks that outlive it.
  const std::shared_ptr<std::atomic<bool>> ended_ =
      std::make_shared<std::atomic<bool>>(false);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SHARING_SESSION_MEMORY_H_
