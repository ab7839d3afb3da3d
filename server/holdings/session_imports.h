// SPDX-License-Identifier: Apache-2.0
//
// The resources of other sessions, and the buffers of collections, that one
// session uses. Each import has a number, which the executor names. An import
// is awake or asleep:
//
//   awake ──Sleep──▶ asleep ──Wake──▶ awake
//
// An import that is awake holds its chunk, and the version of the collection
// that it belongs to. An import that is asleep holds neither: it only keeps its
// place in the chunk, so that a successor of the executor knows which addresses
// it keeps. Only a buffer of a collection can sleep.
//
// The requests come from the executor, and are hostile input. No thread and no
// lock of its own: SessionMemory's owner guards it.
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

// The answer to a SharingRequest, and the descriptor that goes with it.
struct SharingAnswer {
  internal::SharingReply reply;
  UniqueFd descriptor;
};

// Not thread-safe.
class SessionImports {
 public:
  static constexpr size_t kMaxImports = 4096;

  // Both outlive this object.
  SessionImports(collections::CollectionTable& collections,
                 DescriptorStore& kept)
      : collections_(collections), kept_(kept) {}

  // Sets the session's id and tenant. REQUIRES: called before all others.
  void Open(const std::string& session, std::shared_ptr<Tenant> tenant);

  // Add an import of an earlier daemon under its old number. `version` is the
  // open version of the collection that the resource belongs to; null: none.
  void Adopt(uint64_t import, SharedResource resource,
             std::shared_ptr<const collections::OpenVersion> version);
  void AdoptSleeping(uint64_t import, const internal::SharedRange& range);

  // RESOURCE_EXHAUSTED: the session has kMaxImports imports.
  absl::Status CheckRoom() const;
  // Adds an import. The answer has its number, its place and its descriptor.
  absl::Status Add(SharedResource resource,
                   std::shared_ptr<const collections::OpenVersion> version,
                   SharingAnswer* answer);
  // Adds the buffer of a collection that the request names. NOT_FOUND,
  // PERMISSION_DENIED, OUT_OF_RANGE: as the message says.
  absl::Status AddBuffer(const internal::OpenRequest& request,
                         SharingAnswer* answer);
  void Release(uint64_t import) { imports_.erase(import); }
  bool Has(uint64_t import) const { return imports_.contains(import); }
  size_t count() const { return imports_.size(); }

  // A successor of the session's executor asks for each import that it still
  // has (Reopen); EndRestore releases the others. NOT_FOUND: there is no such
  // import.
  void BeginRestore() { reopened_.clear(); }
  absl::Status Reopen(uint64_t import, SharingAnswer* answer);
  void EndRestore();

  // The executor has mapped all buffers of the version. FAILED_PRECONDITION,
  // here and below: the import is no buffer of a collection, or does not sleep.
  absl::Status NoteRead(uint64_t import);
  absl::Status Sleep(uint64_t import);
  // Wakes the import with the buffer that the request names, which must have
  // the place of the old buffer.
  absl::Status Wake(const internal::WakeRequest& request,
                    SharingAnswer* answer);
  // Returns the version that the request opens, or reopens for a successor. The
  // caller keeps the result until the answer, so that the version stays open.
  // Null: there is none; if the request needs one, its answer has the error.
  std::shared_ptr<const collections::OpenVersion> OpenFor(
      const internal::SharingRequest& request) const;

  // Returns a part of an imported buffer of a collection, for a process outside
  // Holdfast. PERMISSION_DENIED: the collection belongs to another tenant, or
  // the request wants to write.
  absl::StatusOr<SharedResource> PartOf(
      const internal::ExportRequest& request) const;
  // Returns an imported buffer that a new version may adopt: it belongs to a
  // collection of this tenant, and is mapped.
  absl::StatusOr<SharedResource> Adoptable(uint64_t import) const;

  // NOT_FOUND: no such event was imported.
  absl::StatusOr<UniqueFd> OpenEventPage(uint64_t import) const;
  // FAILED_PRECONDITION: the session that made the event has not ended.
  absl::StatusOr<UniqueFd> OpenAbandonedEvent(uint64_t import) const;

  // Releases everything, because the session has ended.
  void Close();
  void Report(v1::SessionUsage* usage) const;

 private:
  struct Import {
    SharedResource resource;
    std::shared_ptr<const collections::OpenVersion>
        version;  // null: of no collection
    DescriptorStore::Kept kept;
    uint64_t chunk_size = 0;  // of a sleeping import

    bool asleep() const { return resource.chunk == nullptr; }
  };

  // Keeps a record with which the next daemon restores the import.
  void Keep(uint64_t number, Import* import);
  absl::Status Add(Import import, SharingAnswer* answer);
  // Opens the memory for the executor; the answer describes it and has its
  // number.
  static absl::Status Describe(uint64_t number, const Import& import,
                               SharingAnswer* answer);
  // Returns the requested buffer, and a summary of its version.
  absl::StatusOr<Import> FindBuffer(const internal::OpenRequest& request,
                                    v1::CollectionVersion* summary) const;
  // Null: the import is no buffer of a collection that is awake.
  const Import* FindOfVersion(uint64_t import) const;
  absl::StatusOr<const SharedResource*> FindEvent(uint64_t import) const;

  collections::CollectionTable& collections_;
  DescriptorStore& kept_;
  std::string session_;  // empty: not open
  std::shared_ptr<Tenant> tenant_;
  std::map<uint64_t, Import> imports_;
  uint64_t last_ = 0;            // number
  std::set<uint64_t> reopened_;  // since BeginRestore
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HOLDINGS_SESSION_IMPORTS_H_
