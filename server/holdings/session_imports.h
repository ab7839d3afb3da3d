// SPDX-License-Identifier: Apache-2.0
//
// The imports of a session: resources of other sessions, and buffers of
// collections, that it uses. The supervisor gives each import a number, with
// which the executor names it. An import is awake or asleep:
//
//   awake ──Sleep──▶ asleep ──Wake──▶ awake
//
// An import that is awake holds its chunk, and the version of the collection
// that it belongs to. An import that is asleep holds neither. It only records
// the range that it had in the chunk, so that a successor of the executor can
// reserve the same addresses. Only a buffer of a collection can sleep.
//
// The requests come from the executor, and are hostile input. There is no
// thread and no lock here: the owner of the SessionMemory guards its imports.
#ifndef HOLDFAST_SERVER_HOLDINGS_SESSION_IMPORTS_H_
#define HOLDFAST_SERVER_HOLDINGS_SESSION_IMPORTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "server/collections/collection_table.h"
#include "server/kept/descriptor_store.h"
#include "server/kept/kept_name.h"
#include "server/sharing/export_registry.h"
#include "server/tenants/tenant.h"

namespace holdfast {

// The answer to a SharingRequest, and the descriptor to send with it.
struct SharingAnswer {
  internal::SharingReply reply;
  UniqueFd descriptor;
};

// Not thread-safe.
class SessionImports {
 public:
  static constexpr size_t kMaxImports = 4096;

  // REQUIRES: both outlive this object.
  SessionImports(collections::CollectionTable& collections,
                 DescriptorStore& kept)
      : collections_(collections), kept_(kept) {}

  // Sets the session's id and tenant. REQUIRES: called before all other
  // methods.
  void Open(const std::string& session, std::shared_ptr<Tenant> tenant);

  // Add an import of an earlier daemon under its old number. `version` is the
  // open version of the collection that the resource belongs to; null: none.
  void Adopt(uint64_t import, SharedResource resource,
             std::shared_ptr<const collections::OpenVersion> version);
  void AdoptSleeping(uint64_t import, const internal::SharedRange& range);

  // Checks whether another import may be added. RESOURCE_EXHAUSTED: the session
  // has kMaxImports imports.
  absl::Status CheckRoom() const;
  // Adds an import. Sets its number, place and descriptor in `answer`. Fails as
  // SharedChunk::Open.
  absl::Status Add(SharedResource resource,
                   std::shared_ptr<const collections::OpenVersion> version,
                   SharingAnswer* answer);
  // Adds the buffer of a collection that the request names. OUT_OF_RANGE: the
  // version has no such buffer. Otherwise fails as CheckRoom, Add and
  // CollectionTable::Open.
  absl::Status AddBuffer(const internal::OpenRequest& request,
                         SharingAnswer* answer);
  // Removes an import; ignores an unknown number.
  void Release(uint64_t import) { imports_.erase(import); }
  bool Has(uint64_t import) const { return imports_.contains(import); }
  size_t count() const { return imports_.size(); }

  // Restore the imports for a successor of the session's executor. Between
  // BeginRestore and EndRestore, the successor calls Reopen for each import
  // that it still has; EndRestore releases the others. Reopen sets in `answer`
  // the same as Add. NOT_FOUND: there is no such import.
  void BeginRestore() { reopened_.clear(); }
  absl::Status Reopen(uint64_t import, SharingAnswer* answer);
  void EndRestore();

  // Notes that the executor has mapped all buffers of the import's version.
  // FAILED_PRECONDITION: the import is not an awake buffer of a collection.
  absl::Status NoteRead(uint64_t import);
  // Puts the import to sleep. Fails as NoteRead.
  absl::Status Sleep(uint64_t import);
  // Wakes the import with the buffer that the request names, and sets in
  // `answer` the same as Add. FAILED_PRECONDITION: the import does not sleep,
  // or the buffer does not have the offset and size of the old buffer.
  // Otherwise fails as AddBuffer.
  absl::Status Wake(const internal::WakeRequest& request,
                    SharingAnswer* answer);
  // Returns the version that the request opens, or reopens for a successor. The
  // caller keeps the result until the request is answered, so that the version
  // stays open. Null: there is no such version. Then the answer to the request
  // has the error, if the request needs a version.
  std::shared_ptr<const collections::OpenVersion> OpenFor(
      const internal::SharingRequest& request) const;

  // Returns a part of an imported buffer of a collection, for a process outside
  // Holdfast. PERMISSION_DENIED: the collection belongs to another tenant, or
  // the request is for writing. FAILED_PRECONDITION: the import is not an awake
  // buffer of a collection, or the export is for a session. OUT_OF_RANGE: the
  // part is beyond the buffer's end.
  absl::StatusOr<SharedResource> PartOf(
      const internal::ExportRequest& request) const;
  // Returns an imported buffer that a new version may contain without a copy.
  // FAILED_PRECONDITION: the import is not an awake buffer of a collection.
  // PERMISSION_DENIED: the collection belongs to another tenant.
  absl::StatusOr<SharedResource> Adoptable(uint64_t import) const;

  // Returns the page of an imported event, for reading. NOT_FOUND: no such
  // event was imported.
  absl::StatusOr<UniqueFd> OpenEventPage(uint64_t import) const;
  // Returns the words of an imported event, for writing. NOT_FOUND: as
  // OpenEventPage. FAILED_PRECONDITION: the session that made the event has not
  // ended.
  absl::StatusOr<UniqueFd> OpenAbandonedEvent(uint64_t import) const;

  // Releases everything, because the session has ended.
  void Close();
  void Report(v1::SessionUsage* usage) const;

 private:
  struct Import {
    SharedResource resource;
    // Null: the import is not an awake buffer of a collection.
    std::shared_ptr<const collections::OpenVersion> version;
    DescriptorStore::Kept kept;
    uint64_t chunk_size = 0;  // of a sleeping import

    bool asleep() const { return resource.chunk == nullptr; }
  };

  // Stores a record with which the next daemon restores the import.
  void Keep(uint64_t number, Import* import);
  absl::Status Add(Import import, SharingAnswer* answer);
  // Sets in `answer` the import's number, its place and, unless it sleeps, a
  // descriptor of its memory.
  static absl::Status Describe(uint64_t number, const Import& import,
                               SharingAnswer* answer);
  // Returns the requested buffer, and a summary of its version.
  absl::StatusOr<Import> FindBuffer(const internal::OpenRequest& request,
                                    v1::CollectionVersion* summary) const;
  // Returns an import; null if it is not an awake buffer of a collection.
  const Import* FindOfVersion(uint64_t import) const;
  absl::StatusOr<const SharedResource*> FindEvent(uint64_t import) const;

  collections::CollectionTable& collections_;
  DescriptorStore& kept_;
  std::string session_;  // empty: not open
  std::shared_ptr<Tenant> tenant_;
  std::map<uint64_t, Import> imports_;
  uint64_t last_ = 0;            // the number of the last import
  std::set<uint64_t> reopened_;  // since BeginRestore
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HOLDINGS_SESSION_IMPORTS_H_
