// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HOLDINGS_SESSION_HOLDINGS_H_
#define HOLDFAST_SERVER_HOLDINGS_SESSION_HOLDINGS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "absl/status/status.h"
#include "holdfast/internal/executor.pb.h"
#include "server/channel/channel.h"
#include "server/holdings/held_arenas.h"
#include "server/holdings/held_journal.h"
#include "server/holdings/held_objects.h"
#include "server/holdings/held_suspension.h"
#include "server/holdings/held_variables.h"
#include "server/holdings/session_descriptors.h"
#include "server/holdings/session_memory.h"
#include "server/kept/descriptor_store.h"
#include "server/kept/kept_state.h"
#include "server/memory/memory_ledger.h"
#include "server/objects/object_store.h"
#include "server/tenants/tenant.h"
#include "server/tenants/tenant_counts.h"

namespace holdfast {

// The supervisor's holdings for one session, from its first executor to its
// last: the descriptors of its device memory and of the host memory that
// outlives an executor, its memory grants, its journal, and the code that it
// has loaded. Handles executors' messages about them, which are hostile input.
// Not thread-safe.
//
// A SessionHoldings passes from an executor to the next by
// Executor::TakeHoldings and Inherit; the session owns it in between. The
// holdings store a copy of each descriptor that the next daemon needs in the
// DescriptorStore.
class SessionHoldings {
 public:
  // Parts of the supervisor, which outlive it.
  struct Services {
    ObjectStore& store;
    MemoryLedger& ledger;
    ExportRegistry& exports;
    collections::CollectionTable& collections;
    DeviceMemory& memory;
    DescriptorStore& kept;
  };

  explicit SessionHoldings(const Services& services);
  // Releases everything.
  ~SessionHoldings() { Close(); }
  SessionHoldings(const SessionHoldings&) = delete;
  SessionHoldings& operator=(const SessionHoldings&) = delete;

  // Opens a new session, which is charged to `tenant`. RESOURCE_EXHAUSTED: the
  // tenant has no slot for one more session.
  absl::Status Open(const internal::Assign& assign,
                    std::shared_ptr<Tenant> tenant);

  // Opens a session that an earlier daemon has left, and charges all of its
  // holdings again. The caller adds imports through memory().
  // RESOURCE_EXHAUSTED: a limit is too low now; chunks of memory are still in
  // `kept`.
  absl::Status Adopt(KeptSession& kept, std::shared_ptr<Tenant> tenant);

  // Takes over the memory of a session that has ended. The destructor releases
  // all of it that other sessions do not use.
  absl::Status AdoptOrphan(uint64_t session,
                           std::map<uint64_t, KeptChunk> chunks);

  // Prepares for a successor of an executor that has ended. The session's epoch
  // `epoch` begins with the successor. Until EndRestore nothing of the session
  // is released, so that a further executor can take over if the successor
  // fails. Called again for each successor.
  absl::Status BeginRestore(uint64_t epoch);
  // The successor has restored the session: carries out the postponed releases,
  // drops the old journal and the suspension, and gives back grants and imports
  // that the successor has not asked for.
  void EndRestore();

  // NoteIdle records, also for the next daemon, that the session's work has
  // ended and its executor will end with the daemon. NoteBusy takes that back,
  // and drops the saved variables.
  void NoteIdle();
  void NoteBusy();

  // Releases the device memory, whose bytes an executor has saved, and all of
  // the executor's grants. REQUIRES: suspension().Prepare has succeeded.
  void Suspend();
  // Places a suspended session on this device for its next executor: grants the
  // session's memory there, and gives back the grant on another device.
  // RESOURCE_EXHAUSTED: the device has no room; the session then has no grant
  // on any device. REQUIRES: the session is suspended, and has one device.
  absl::Status PlaceOn(uint32_t device);

  // Sends an executor the descriptors that it needs before Assign: the journal,
  // then the tenant's page; for a successor also the old journal, variables,
  // arenas and chunks. Fails if the channel is closed.
  absl::Status SendTo(Channel& channel) const;

  // The journal of the present executor; -1 if there is none.
  int journal() const { return journal_.current(); }

  // The handlers of an executor's messages about one kind of holding.
  SessionMemory& memory() { return memory_; }
  MemoryGrants& grants() { return grants_; }
  HeldArenas& arenas() { return arenas_; }
  HeldObjects& objects() { return objects_; }
  // Held until NoteBusy or EndRestore.
  HeldVariables& variables() { return variables_; }
  HeldSuspension& suspension() { return suspension_; }
  const HeldSuspension& suspension() const { return suspension_; }

  // The Release methods ignore unknown numbers. Between BeginRestore and
  // EndRestore they postpone the release.
  void ReleaseChunk(uint64_t chunk);
  void ReleaseImport(uint64_t import);
  void ReleaseArena(uint64_t handle);
  // The number of postponed releases.
  size_t postponed() const {
    return released_chunks_.size() + released_imports_.size() +
           arenas_.postponed();
  }

  // Releases everything, also in the DescriptorStore. May be called again.
  void Close();

 private:
  absl::Status AdoptArenas(std::map<uint64_t, KeptArena>& arenas);

  SessionDescriptors kept_;
  std::unique_ptr<TenantCounts::Lease> slot_;  // null: no tenant with a quota
  MemoryGrants grants_;
  SessionMemory memory_;
  HeldJournal journal_;
  HeldVariables variables_;
  HeldArenas arenas_;
  HeldObjects objects_;
  HeldSuspension suspension_;
  SessionDescriptors::Kept idle_;
  // Releases postponed to EndRestore. Every number is held.
  std::set<uint64_t> released_chunks_;
  std::set<uint64_t> released_imports_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HOLDINGS_SESSION_HOLDINGS_H_
